"""Policies on another machine: clients of openpi and GR00T servers, and a server that openpi's own client can use.

Needs the extra `remote`. Numbers and names are all that crosses the wire: there is no pickle on either side.
"""

from __future__ import annotations

import importlib

from tendon.core.distribution import pip_install
from tendon.core.errors import MissingDependencyError


def require_remote() -> None:
    """Checks that what the rest of this package imports is installed. Call it before importing that.

    Raises:
        MissingDependencyError: it is not; the message says how to get it.
    """
    for name in ("msgpack", "websockets", "zmq"):
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise MissingDependencyError(
                f"remote policies need {name}, which is missing ({error}): {pip_install('remote')}"
            ) from error
