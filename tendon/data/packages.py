"""Libraries that only datasets and recordings need."""

from __future__ import annotations

from tendon.core.distribution import pip_install
from tendon.core.errors import MissingDependencyError


def require_data() -> None:
    """Checks that what reads and writes recordings and datasets is installed.

    Raises:
        MissingDependencyError: it is not; the message says how to get it.
    """
    try:
        import av
        import mcap
        import pyarrow
        import rosbags
    except ImportError as error:
        raise MissingDependencyError(
            f"recordings and datasets need {error.name or error}, which is not installed: {pip_install('data')}"
        ) from error
    del av, mcap, pyarrow, rosbags
