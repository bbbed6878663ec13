"""openpi's own servers as policies: the user says what the policy sees and answers."""

from __future__ import annotations

from typing import Any

from tendon.core.types import Array, Observation
from tendon.policies.remote.contract import Contract
from tendon.policies.remote.described_link import DescribedLink
from tendon.policies.remote.link import RemoteAnswer, server_ns
from tendon.policies.remote.openpi.client import OpenpiClient
from tendon.policies.remote.openpi.nested_keys import flat, nested
from tendon.policies.remote.transport.endpoint import Endpoint
from tendon.robots.profile import RobotProfile


class OpenpiLink(DescribedLink):
    """A `Link` to an openpi server; connects at once.

    openpi's metadata says nothing of what a policy sees, so that is found out by the first request (`warm_up`).

    Args:
        endpoint: of the server.
        contract: what the policy sees and answers.
        profile: the robot.

    Raises:
        RemoteError: the server is out of reach.
        MismatchError: the contract does not fit the robot.
    """

    def __init__(self, endpoint: Endpoint, contract: Contract, profile: RobotProfile) -> None:
        super().__init__(endpoint, contract, profile)
        self._nested, self._answer_keys = contract.nested_keys, tuple(contract.answer)
        self._client = OpenpiClient(endpoint)
        self._client.connect()

    def ask(self, observation: Observation, given: Array, frozen: int, timeout_s: float) -> RemoteAnswer:
        """See `Link`."""
        request: dict[str, Any] = {
            **self._translator.images(observation),
            **self._translator.state(observation),
            self._prompt_key: observation.instruction,
        }
        answer = self._client.ask(nested(request) if self._nested else request, timeout_s)
        parts = flat(answer, self._answer_keys) if self._nested else answer
        return self._translator.answer(parts, observation, given, frozen, server_ns(answer))

    def close(self) -> None:
        """See `Link`."""
        self._client.close()
