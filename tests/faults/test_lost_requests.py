"""A request to stop that the network loses: it is sent again at once, and not after the 3 s of Fast DDS."""

from __future__ import annotations

from tests.faults.lost_requests import answer_times

REQUESTS = 20
FAST_DDS_S = 3.0


def test_a_request_to_stop_that_is_lost_is_sent_again_at_once() -> None:
    times = answer_times(0.3, REQUESTS)
    assert len(times) == REQUESTS
    assert max(times) < FAST_DDS_S
