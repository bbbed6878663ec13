"""NVIDIA's GR00T policy server as a policy: the user says what it sees and answers, the server confirms it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tendon.core.errors import MismatchError, RemoteError, TendonError
from tendon.core.types import Array, Observation
from tendon.policies.remote.contract import Contract
from tendon.policies.remote.described_link import DescribedLink
from tendon.policies.remote.gr00t.client import Gr00tClient
from tendon.policies.remote.gr00t.format import Modality
from tendon.policies.remote.gr00t.versions import Version, read_configuration
from tendon.policies.remote.link import RemoteAnswer
from tendon.policies.remote.transport.endpoint import Deadline, Endpoint
from tendon.policies.spec.history import History
from tendon.robots.profile import RobotProfile

LONGEST_PAST_S, MAX_INSTANTS = 30.0, 64
"""How far back and how many instants a server may ask for: all observations of that time are kept."""


class Gr00tLink(DescribedLink):
    """A `Link` to a GR00T server; asks it at once which version it is, and what its policy sees and answers.

    Where the policy sees several instants of video or state, it is sent them: a step is that of the action.

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
        self._contract = contract
        self._client = Gr00tClient(endpoint)
        try:
            self._version, self._said = self._configuration(endpoint.connect_s)
            self._keys = server_keys(self._said, contract)
        except BaseException:
            self._client.close()
            raise
        self._confirmed = True
        self.url = f"{endpoint.url} (GR00T {self._version.name})"
        self._video_steps = self._said["video"].steps
        self._state_steps = self._said["state"].steps if "state" in self._said else ()
        self._span = -min(*self._video_steps, *self._state_steps, 0)
        self._history = History(self._span, self.step_ns)

    def observe(self, observation: Observation) -> None:
        """See `Link`."""
        if self._span:
            self._history.add(observation)

    def ask(self, observation: Observation, given: Array, frozen: int, timeout_s: float) -> RemoteAnswer:
        """See `Link`."""
        deadline = Deadline(timeout_s)
        self.observe(observation)
        if not self._confirmed:
            self._confirm(timeout_s)
            timeout_s = self._left_s(deadline, timeout_s)
        images = [self._translator.images(each) for each in self._history.seen(observation, self._video_steps)]
        states = [self._translator.state(each) for each in self._history.seen(observation, self._state_steps)]
        request = self._version.request(
            {there: np.stack([each[here] for each in images]) for here, there in self._keys["video"].items()},
            {there: np.stack([each[here] for each in states]) for here, there in self._keys["state"].items()},
            dict.fromkeys(self._keys["language"].values(), observation.instruction),
        )
        try:
            answer = self._client.ask("get_action", request, timeout_s, self._version.coding)
            rows = self._version.rows(answer)
        except TendonError:
            self._confirmed = False
            raise
        named = {here: rows[there] for here, there in self._keys["action"].items() if there in rows}
        return self._translator.answer(named or rows, observation, given, frozen, None)

    def close(self) -> None:
        """See `Link`."""
        self._client.close()

    def _configuration(self, timeout_s: float) -> tuple[Version, dict[str, Modality]]:
        return read_configuration(self._client.ask("get_modality_config", None, timeout_s))

    def _left_s(self, deadline: Deadline, timeout_s: float) -> float:
        try:
            return deadline.left_s()
        except TimeoutError as error:
            raise RemoteError(
                f"{self.url} took {timeout_s:g} s to say what it serves: this observation is too old now, the next one "
                "is sent"
            ) from error

    def _confirm(self, timeout_s: float) -> None:
        """Checks after a failure that the server is still the one that was checked at start."""
        if self._configuration(timeout_s) != (self._version, self._said):
            raise MismatchError(f"{self.url} serves another policy or version now: start anew to use it")
        self._confirmed = True


def server_keys(said: Mapping[str, Modality], contract: Contract) -> dict[str, dict[str, str]]:
    """Checks a contract against what a server says of its policy.

    Returns:
        By modality, the contract's keys to the server's: N1.5 puts the modality in front, which need not be written.

    Raises:
        MismatchError: other keys, another number of rows, or instants that cannot be sent.
    """
    where = f"policy {contract.name}"
    wanted: dict[str, Sequence[str]] = {
        "video": [image.key for image in contract.cameras],
        "state": list(contract.state),
        "language": [contract.instruction],
        "action": list(contract.answer),
    }
    keys = {}
    for modality, named in wanted.items():
        there = said[modality].keys if modality in said else ()
        found = {here: match for here in named for match in (here, f"{modality}.{here}") if match in there}
        missing = [here for here in named if here not in found]
        extra = [] if modality in ("action", "language") else [key for key in there if key not in found.values()]
        if missing or extra:
            raise MismatchError(f"{where}: {modality} keys are {sorted(named)}, the server has {sorted(there)}")
        keys[modality] = found
    if "language" in said:  # paraphrases in training: the first is read, but some versions insist on all
        keys["language"] = {key: key for key in said["language"].keys}
    rows = len(said["action"].steps)
    if rows != contract.action.rows:
        raise MismatchError(f"{where}: action rows is {contract.action.rows}, the server answers {rows}")
    most = int(LONGEST_PAST_S / contract.action.step_s)
    for modality in ("video", "state"):
        if modality in said:
            _check_steps(f"{where}: the server wants {modality} of steps", said[modality].steps, most)
    return keys


def _check_steps(where: str, steps: tuple[int, ...], most: int) -> None:
    if not steps or len(steps) > MAX_INSTANTS or not all(-most <= step <= 0 for step in steps):
        raise MismatchError(
            f"{where} {str(list(steps))[:80]}: must be 1 to {MAX_INSTANTS} of them, from {-most} "
            f"({LONGEST_PAST_S:g} s ago) to 0 (the present)"
        )
