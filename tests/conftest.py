"""Keeps these tests off every other ROS graph of the machine, that of a second test process too, and its latch."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
os.environ["ROS_DOMAIN_ID"] = str(1 + os.getpid() % 100)
os.environ["TENDON_STATE"] = tempfile.mkdtemp(prefix="tendon-state-")
atexit.register(shutil.rmtree, os.environ["TENDON_STATE"], ignore_errors=True)
