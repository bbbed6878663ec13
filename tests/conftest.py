"""Keeps these tests off every other ROS graph of the machine, that of a second test process too, and its latch."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

from tendon.graph.domain import claim_domain

os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
domain, claim = claim_domain()
os.environ["ROS_DOMAIN_ID"] = str(domain)
os.environ["TENDON_STATE"] = tempfile.mkdtemp(prefix="tendon-state-")
atexit.register(shutil.rmtree, os.environ["TENDON_STATE"], ignore_errors=True)
