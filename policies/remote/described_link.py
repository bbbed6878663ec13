"""What links to servers that do not describe themselves have in common: the user's file says what the policy is."""

from __future__ import annotations

from tendon.core.pace import USUAL
from tendon.core.types import Observation
from tendon.policies.remote.contract import Contract, Translator
from tendon.policies.remote.link import check_length
from tendon.policies.remote.transport.endpoint import Endpoint
from tendon.policies.spec.steering import Steering
from tendon.robots.profile import RobotProfile


class DescribedLink:
    """A `Link` but for asking. The server does not know the running plan: the answer is faded in from it here.

    Args:
        endpoint: of the server.
        contract: what the policy sees and answers.
        profile: the robot.

    Raises:
        MismatchError: the contract does not fit the robot.
    """

    def __init__(self, endpoint: Endpoint, contract: Contract, profile: RobotProfile) -> None:
        self._translator = Translator(contract, profile)
        self._prompt_key = contract.instruction
        self.name: str = contract.name
        self.url: str = endpoint.url
        self.cameras = self._translator.cameras
        self.rows: int = contract.action.rows
        self.step_ns: int = contract.action.step_ns
        self.prefix_rows: int = contract.action.rows - 1
        self.overlap_rows: int = contract.action.rows
        self.pace = USUAL
        self.steering = Steering(())

    def check_instruction(self, instruction: str) -> None:
        """See `Link`."""
        check_length(instruction)

    def observe(self, observation: Observation) -> None:
        """See `Link`: the server is told the present alone."""
