"""NVIDIA's GR00T policy server as a policy: the user says what it sees and answers, the server confirms the keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tendon.core.errors import InvalidDataError, MismatchError
from tendon.core.profile import RobotProfile
from tendon.core.types import Array, Observation
from tendon.policies.remote.contract import Contract
from tendon.policies.remote.described_link import DescribedLink
from tendon.policies.remote.endpoint import Endpoint
from tendon.policies.remote.gr00t_client import Gr00tClient
from tendon.policies.remote.link import RemoteAnswer


class Gr00tLink(DescribedLink):
    """A `Link` to a GR00T server (N1.6); asks it at once what its policy sees and answers.

    Args:
        endpoint: of the server.
        contract: what the policy sees and answers.
        profile: the robot.

    Raises:
        RemoteError: the server is out of reach.
        MismatchError: the contract does not fit the robot, or not what the server says of its policy.
    """

    def __init__(self, endpoint: Endpoint, contract: Contract, profile: RobotProfile) -> None:
        super().__init__(endpoint, contract, profile)
        self._client = Gr00tClient(endpoint)
        try:
            check_modalities(self._client.ask("get_modality_config", None, endpoint.connect_s), contract)
        except BaseException:
            self._client.close()
            raise

    def ask(self, observation: Observation, given: Array, frozen: int, timeout_s: float) -> RemoteAnswer:
        """See `Link`."""
        seen = {
            "video": {key: pixels[None, None] for key, pixels in self._translator.images(observation).items()},
            "state": {key: numbers[None, None] for key, numbers in self._translator.state(observation).items()},
            "language": {self._prompt_key: [[observation.instruction]]},
        }
        answer = self._client.ask("get_action", {"observation": seen, "options": None}, timeout_s)
        if not (isinstance(answer, list) and len(answer) == 2 and isinstance(answer[0], dict)):
            raise InvalidDataError(f"the answer is {type(answer).__name__}, must be a list of actions and information")
        batches = {
            key: value[0] if getattr(value, "shape", ())[:1] == (1,) else value for key, value in answer[0].items()
        }
        return self._translator.answer(batches, observation, given, frozen, None)

    def close(self) -> None:
        """See `Link`."""
        self._client.close()


def check_modalities(config: Any, contract: Contract) -> None:
    """Checks a contract against what a server says of its policy.

    Raises:
        MismatchError: other keys, another number of rows, or a policy that is told its past.
    """
    wanted = {
        "video": sorted(image.key for image in contract.cameras),
        "state": sorted(contract.state),
        "language": [contract.instruction],
        "action": sorted(contract.answer),
    }
    for modality, keys in wanted.items():
        said = config.get(modality) if isinstance(config, Mapping) else None
        found = said.get("modality_keys") if isinstance(said, Mapping) else None
        steps = said.get("delta_indices") if isinstance(said, Mapping) else None
        if not isinstance(found, list) or not isinstance(steps, list):
            raise MismatchError(f"the server says nothing of modality {modality}: is it a GR00T server (N1.6)?")
        if sorted(map(str, found)) != keys:
            raise MismatchError(
                f"policy {contract.name}: {modality} keys are {keys}, the server has {sorted(map(str, found))}"
            )
        if modality == "action":
            if len(steps) != contract.action.rows:
                raise MismatchError(
                    f"policy {contract.name}: action rows is {contract.action.rows}, the server answers {len(steps)}"
                )
        elif len(steps) != 1:
            raise MismatchError(
                f"policy {contract.name}: the server wants {len(steps)} instants of {modality}, one is sent"
            )
