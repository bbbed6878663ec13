"""What an observation was made of, and its digest: whoever recorded the same messages can make it again."""

from __future__ import annotations

from std_msgs.msg import Header

from tendon.graph import topics
from tendon.observation.assembly import Sources
from tendon.observation.given import Given, read_words, words_of
from tendon.ros2_nodes.wire.headers.lines import HeaderLine
from tendon.ros2_nodes.wire.times import time_ns

_GIVEN = HeaderLine(topic=topics.GIVEN, words=("DIGEST", "CAMERAS", "JOINTS"))


def given_message(sources: Sources, digest: str) -> Header:
    """Returns the message about an observation; the stamp is its own."""
    return _GIVEN.encode(sources.stamp_ns, digest, *words_of(sources))


def read_given(message: Header) -> Given:
    """Returns what is said of an observation.

    Raises:
        InvalidDataError: the message is of another version or form.
    """
    (digest, cameras, joints), _ = _GIVEN.decode(message)
    return Given(sources=read_words(time_ns(message.stamp), cameras, joints), digest=digest)
