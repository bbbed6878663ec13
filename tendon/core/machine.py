"""What a number was measured on: this machine, and the packages on it."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from tendon.core.distribution import DISTRIBUTION

PACKAGES = (
    DISTRIBUTION,
    "numpy",
    "pin",
    "onnxruntime",
    "onnxruntime-gpu",
    "pybullet",
    "ros-jazzy-rclpy",
    "ros-jazzy-rmw-fastrtps-cpp",
    "torch",
    "lerobot",
    "transformers",
)


def machine() -> dict[str, Any]:
    """Returns what this machine is, and how busy."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "load_average": [round(load, 2) for load in os.getloadavg()],
        "platform": platform.platform(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def commit(*without: str) -> str:
    """Returns the commit of this code, " + changes" after it when files differ from it; "" outside a checkout.

    Args:
        without: pathspecs of git, such as ":!docs", for what is no change.
    """
    here = Path(__file__).resolve()
    git = ("git", "-C", str(here.parents[2]))
    try:
        subprocess.run([*git, "ls-files", "--error-unmatch", str(here)], check=True, capture_output=True)
        found = subprocess.run([*git, "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True)
        status = [*git, "status", "--porcelain", "--", ".", *without]
        changed = subprocess.run(status, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return found.stdout.strip() + (" + changes" if changed.stdout else "")


def versions() -> dict[str, str]:
    """Returns the versions of Python and of the packages that matter, of those that are installed by pip."""
    found = {"python": platform.python_version()}
    if known := commit():
        found["commit"] = known
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
