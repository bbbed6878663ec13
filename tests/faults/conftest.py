"""Keeps these tests off every other ROS graph of the machine."""

from __future__ import annotations

import os
import random

os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
os.environ["ROS_DOMAIN_ID"] = str(random.Random(os.getpid()).randint(1, 100))
