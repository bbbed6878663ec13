"""The robot side's controllers, made inactive after a latch and active at arming, by their controller manager.

ros2_control's controllers know no permission: whoever publishes commands moves the robot, latched or not. One that is
inactive takes no command. Nothing waits here: a request that was sent is looked at 50 times a second, and none is sent
while the robot may move, so that no answer, however large, holds up a permission.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from typing import Any

from builtin_interfaces.msg import Duration

from tendon.core.errors import ConfigError, NoAnswerError, StoppedError
from tendon.core.modes import PermissionState
from tendon.core.phrases import beginning
from tendon.robots.profile import RobotProfile
from tendon.ros2_nodes.base.guarded_client import PendingRequest
from tendon.ros2_nodes.base.shell import NodeShell
from tendon.safety.deactivation import Deactivation
from tendon.safety.event_log import EventLog

PACKAGE = "controller_manager_msgs"
ANSWER_S = 2.0
"""Wall time in which the controller manager has to answer one request: a driver may have to change its mode."""
SWITCH_S = 1.5
"""In which the manager has to have switched, or gives up and says so."""
RETRY_S = 0.5
"""Between a deactivation that failed and the next."""

Done = Callable[[str], None]
"""Takes why a request was not carried out; empty when it was."""


class ControllerSwitch:
    """Asks `<controller manager>/switch_controller`. Everything in the executor's thread.

    Attributes:
        service: that is asked.

    Args:
        node: calls the service.
        profile: names the controllers and their manager.
        log: takes what was asked and answered.

    Raises:
        ConfigError: the messages of the controller manager are not installed.
    """

    def __init__(self, node: NodeShell, profile: RobotProfile, log: EventLog) -> None:
        self.service = f"{profile.controller_manager}/switch_controller"
        self._type = _service_type(profile)
        self._client = node.create_guarded_client(self._type, self.service)
        self._names = [controller.name for controller in profile.controllers]
        self._node, self._log = node, log
        self._needed = Deactivation(profile)
        self._inactive = self._latched = False
        self._request: PendingRequest | None = None
        self._again_s = 0.0
        self._done: Done | None = None
        self._activated: Done | None = None
        self._problem = ""

    @property
    def problem(self) -> str:
        """Why controllers that have to be inactive may be active; empty when they are not, or need not be."""
        stuck = self._needed.reason and not self._inactive and self._problem
        return f"controllers may still be active: {self._problem}" if stuck else ""

    @property
    def settled(self) -> bool:
        """Whether controllers that have to be inactive, or will have to be when the robot rests, are."""
        return self._inactive or not (self._needed.reason or self._latched)

    def measured(self, at_rest: bool, now_ns: int) -> None:
        """Takes whether a new joint state shows the robot at rest."""
        self._needed.measured(at_rest, now_ns)

    def commanded(self, ends_ns: int) -> None:
        """Takes when the last command that broke no law ends."""
        self._needed.commanded(ends_ns)

    def look(self, state: PermissionState, breaches: int, now_ns: int) -> None:
        """Takes the state of the permission, and how many commands have broken a law; does what is due."""
        self._latched = state is PermissionState.LATCHED
        if self._activated is not None and self._latched:
            self._drop()
            self._finish("the robot was stopped meanwhile")
        if self._latched:
            self._needed.latched(breaches, now_ns)
        self._receive()
        # Inactive and yet moving: somebody made them active again.
        wanted = self._needed.reason and (not self._inactive or self._needed.moving)
        if wanted and self._request is None and self._activated is None and time.monotonic() >= self._again_s:
            self._again_s = time.monotonic() + RETRY_S
            if self._client.ready:
                self._ask("deactivate", self._deactivated)
            else:
                self._deactivated(self._absent())

    def activate(self, done: Done) -> None:
        """Makes all controllers active; `done` hears of it later, exactly once.

        The manager refuses to activate one that is active, so they are deactivated first: only then an answer says
        that each has just begun, at rest and without an old trajectory.

        Raises:
            StoppedError: another request to arm is under way, or there is no controller manager.
        """
        if self._activated is not None:
            raise StoppedError("cannot arm: another request to arm is under way")
        if not self._client.ready:
            raise StoppedError(f"cannot arm: {self._absent()}")
        self._drop()
        self._activated = done
        self._ask("deactivate", self._stopped)

    def _stopped(self, problem: str) -> None:
        if problem:
            self._finish(problem)
        else:
            self._ask("activate", self._finish)

    def _finish(self, problem: str) -> None:
        done, self._activated = self._activated, None
        self._inactive = False
        if done is not None:
            done(problem)

    def armed(self) -> None:
        """Takes note that the robot is armed: its controllers stay active."""
        self._needed.armed()
        self._problem, self._again_s = "", 0.0

    def refused(self) -> None:
        """Takes note that the robot was not armed although its controllers may be active: they are deactivated."""
        self._needed.refused()

    def _deactivated(self, problem: str) -> None:
        self._inactive, self._problem = not problem, problem

    def _ask(self, what: str, done: Done) -> None:
        """Sends a request: "activate" is refused when one of the controllers cannot be, "deactivate" leaves none."""
        kind = self._type.Request
        strictness = kind.STRICT if what == "activate" else kind.BEST_EFFORT
        request = kind(strictness=strictness, timeout=_duration(SWITCH_S))
        setattr(request, f"{what}_controllers", self._names)
        reason = {"reason": self._needed.reason} if self._needed.reason else {}
        self._log.put("controllers", request=what, **reason)
        self._request, self._done = self._client.ask(request, ANSWER_S), done

    def _receive(self) -> None:
        """Takes the answer to the request, or that there is none in time."""
        request, done = self._request, self._done
        if request is None or done is None:
            return
        try:
            answer = request.answer()
        except NoAnswerError as error:
            problem = str(error)
        else:
            if answer is None:
                return
            said = beginning(getattr(answer, "message", "")) or "its log says why"  # before 4.28 it gave no reason
            problem = "" if answer.ok else f"{self.service} refused: {said}"
        self._request = None
        self._log.put("controllers", answer=problem or "done")
        if problem:
            self._node.complain(self.service, problem)
        done(problem)

    def _drop(self) -> None:
        if self._request is not None:
            self._request.give_up()
            self._request = None

    def _absent(self) -> str:
        return f"nobody serves {self.service}: is ros2_control running, and is that the controller_manager's name?"


def _duration(time_s: float) -> Duration:
    return Duration(sec=int(time_s), nanosec=round(time_s % 1.0 * 1e9))


def _service_type(profile: RobotProfile) -> Any:
    """Returns the type of the service: the only place that imports it, and only where a profile asks for it."""
    try:
        return importlib.import_module(f"{PACKAGE}.srv").SwitchController
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"profile {profile.name} names a controller_manager, whose messages are not installed ({error}): "
            "apt install ros-jazzy-controller-manager-msgs, or source the workspace that has them"
        ) from error
