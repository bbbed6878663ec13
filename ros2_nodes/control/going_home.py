"""What `control/home` does: brake, have a way planned in another process, follow it, and say what came of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout  # the builtin one from Python 3.11 on
from typing import TypeVar

from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from std_srvs.srv import Trigger

from tendon.control.controller import Controller
from tendon.control.homing.process import plan_apart
from tendon.core.errors import StoppedError, TendonError
from tendon.graph import topics
from tendon.ros2_nodes.base.guard import GuardedNode

LOOP_S = 5.0
"""How long the control loop may take to grant a wish: in simulated time it waits for others."""

Answer = TypeVar("Answer")
Wish = Callable[[int], None]


class GoingHome:
    """Serves `control/home` in a thread and with a ROS node of its own, as an answer takes as long as planning does.

    The control node's executor answers at once or not at all, and hears no joint states meanwhile.

    Args:
        node: whose namespace and remappings count.
        controller: moved by the control loop's thread alone.
        wish: hands a function to that thread, which calls it with the time.
        robot: name or path of the profile.
        environment: name or path; empty for none.
    """

    def __init__(
        self, node: GuardedNode, controller: Controller, wish: Callable[[Wish], None], robot: str, environment: str
    ) -> None:
        self._controller, self._wish = controller, wish
        self._robot, self._environment = robot, environment
        self._node = GuardedNode(
            f"{node.get_name()}_home",
            namespace=node.get_namespace(),
            use_global_arguments=False,
            enable_rosout=False,
            start_parameter_services=False,
        )
        self._node.create_service(Trigger, node.resolve_service_name(topics.HOME), self._answer)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._thread = threading.Thread(target=self._spin, name="home", daemon=True)

    def start(self) -> None:
        """Begins to answer."""
        self._thread.start()

    def close(self) -> None:
        """Ends; a way that is still being planned is nobody's any more."""
        self._executor.shutdown(0.0)
        if self._thread.ident is not None:  # it was started
            self._thread.join(0.5)
        if not self._thread.is_alive():
            self._node.destroy_node()

    def _spin(self) -> None:
        try:
            self._executor.spin()
        except ExternalShutdownException:
            return

    def _answer(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            start = self._granted(self._controller.begin_home)
            way = plan_apart(self._robot, self._environment, start)
            self._granted(lambda: self._controller.follow_home(way))
        except TendonError as error:
            response.message = str(error)
            return response
        response.success, moves = True, len(way) - 1
        response.message = "going home" if moves == 1 else f"going home in {moves} moves"
        return response

    def _granted(self, ask: Callable[[], Answer]) -> Answer:
        """Returns what a function of the controller answers to the control loop's thread.

        Raises:
            StoppedError: it does not move, or the loop does not answer.
        """
        answered: Future[Answer] = Future()

        def grant(_: int) -> None:
            if not answered.set_running_or_notify_cancel():
                return
            try:
                answered.set_result(ask())
            except StoppedError as error:
                answered.set_exception(error)

        self._wish(grant)
        try:
            return answered.result(LOOP_S)
        except FutureTimeout as error:
            answered.cancel()
            raise StoppedError(f"not going home: the control loop has not answered for {LOOP_S:g} s") from error
