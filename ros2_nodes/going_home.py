"""What the control node does for `control/home`: brake, have a way planned elsewhere, follow it, and answer what became of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from std_srvs.srv import Trigger

from tendon.control.controller import Controller
from tendon.control.homing.process import PATIENCE_S, plan_apart
from tendon.core.errors import StoppedError, TendonError

LOOP_S = 5.0
"""How long the control loop may take to grant a wish: in simulated time it waits for others."""
PAUSE_S = 0.001
"""Between two looks whether there is an answer: meanwhile this thread takes other messages."""

Answer = TypeVar("Answer")
Wish = Callable[[int], None]


class _Pause:
    """Lets the executor do something else. Its future would do, but this executor asks it again without a pause."""

    def __await__(self) -> Generator[None, None, None]:
        time.sleep(PAUSE_S)
        yield


class GoingHome:
    """Answers requests in the executor's thread, which it does not hold up.

    Args:
        controller: moved by the control loop's thread alone.
        wish: hands a function to that thread, which calls it with the time.
        robot: name or path of the profile.
        environment: name or path; empty for none.
    """

    def __init__(self, controller: Controller, wish: Callable[[Wish], None], robot: str, environment: str) -> None:
        self._controller, self._wish = controller, wish
        self._robot, self._environment = robot, environment
        self._planning = False
        self._thread = ThreadPoolExecutor(1, "home")

    async def answer(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Answers once the robot is on its way, or with why it is not."""
        if self._planning:
            response.message = "a way home is being planned already"
            return response
        self._planning = True
        try:
            start = await self._granted(self._controller.begin_home)
            way = await _result(self._thread.submit(plan_apart, self._robot, self._environment, start), 2 * PATIENCE_S)
            await self._granted(lambda: self._controller.follow_home(way))
            response.success = True
            turns = len(way) - 2
            response.message = "going home" if not turns else f"going home, around what is in the way ({turns} turns)"
        except TendonError as error:
            response.message = str(error)
        finally:
            self._planning = False
        return response

    async def _granted(self, ask: Callable[[], Answer]) -> Answer:
        """Returns what a function of the controller answers to the control loop's thread."""
        answered: Future[Answer] = Future()

        def grant(_: int) -> None:
            try:
                answered.set_result(ask())
            except StoppedError as error:
                answered.set_exception(error)

        self._wish(grant)
        return await _result(answered, LOOP_S)

    def close(self) -> None:
        """Ends its thread, once a planning process that runs has ended."""
        self._thread.shutdown(wait=False)


async def _result(future: Future[Answer], patience_s: float) -> Answer:
    deadline_s = time.monotonic() + patience_s
    while not future.done():
        if time.monotonic() > deadline_s:
            raise StoppedError(f"not going home: no answer within {patience_s:g} s")
        await _Pause()
    return future.result()
