"""What the policy node says of each observation that it was given, in one line, and an offline reader checks it by."""

from __future__ import annotations

from dataclasses import dataclass

from tendon.core.errors import InvalidDataError
from tendon.observation.assembly import Sources

NOTHING = "-"


@dataclass(frozen=True, kw_only=True)
class Given:
    """One observation.

    Attributes:
        sources: what it was made of.
        digest: of it, see `tendon.observation.assembly.digest`.
    """

    sources: Sources
    digest: str


def words_of(sources: Sources) -> tuple[str, str]:
    """Returns cameras as NAME:NS,... and joint states as NS,..., each in nanoseconds from the observation's stamp."""
    begin_ns = sources.stamp_ns
    cameras = ",".join(f"{name}:{stamp - begin_ns}" for name, stamp in sorted(sources.images.items()))
    return cameras or NOTHING, ",".join(str(stamp - begin_ns) for stamp in sources.joints)


def read_words(stamp_ns: int, cameras: str, joints: str) -> Sources:
    """Returns what `words_of` said.

    Raises:
        InvalidDataError: they are none.
    """
    try:
        pairs = [] if cameras == NOTHING else [each.rsplit(":", 1) for each in cameras.split(",")]
        return Sources(
            stamp_ns=stamp_ns,
            images={name: stamp_ns + int(offset) for name, offset in pairs},
            joints=tuple(stamp_ns + int(offset) for offset in joints.split(",")),
        )
    except ValueError as error:
        raise InvalidDataError(f"an observation made of {cameras!r} and {joints!r}: {error}") from error
