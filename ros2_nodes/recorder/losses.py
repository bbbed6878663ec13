"""How many messages of a topic never came, told by the numbers that their publishers give them."""

from __future__ import annotations

from collections.abc import Callable


class Losses:
    """Of one topic. The middleware numbers what a publisher has sent from 1, and does not say whose a number is.

    A number that follows one which came is of that publisher. One that follows none is of another, as long as there
    are more of them than have been heard; else what is between was lost.
    """

    def __init__(self) -> None:
        self._newest: list[int] = []
        """The newest number of each publisher that has been heard."""

    def before(self, number: int, publishers: Callable[[], int]) -> int:
        """Returns how many were lost right before a message.

        Args:
            number: of the message.
            publishers: counts who publishes there; asked only where numbers do not go on.
        """
        smaller = [each for each in self._newest if each < number]
        newest = max(smaller, default=0)
        if newest != number - 1 or not smaller:
            count = publishers()
            if not smaller and count <= 1:
                self._newest.clear()  # one that was restarted counts from 1 again
            if not smaller or count > len(self._newest):
                self._newest.append(number)
                return 0
        self._newest[self._newest.index(newest)] = number
        return number - newest - 1
