"""Makes `tiny_bundle` importable, and keeps these tests off every other ROS graph of the machine and its latch."""

from __future__ import annotations

import atexit
import os
import random
import shutil
import tempfile

os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
os.environ["ROS_DOMAIN_ID"] = str(random.Random(os.getpid()).randint(1, 100))
os.environ["TENDON_STATE"] = tempfile.mkdtemp(prefix="tendon-state-")
atexit.register(shutil.rmtree, os.environ["TENDON_STATE"], ignore_errors=True)
