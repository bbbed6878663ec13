"""What differs between the versions of NVIDIA's GR00T server, and which one a server is, by what it says of its policy.

N1.5 takes one flat map of keys with their modality in front (`video.front`) and answers likewise; N1.6 and N1.7 take
and answer a map a modality, of a batch. N1.7 changed how arrays are written a month after its release.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tendon.core.errors import InvalidDataError, MismatchError
from tendon.policies.remote.gr00t.format import Coding, Modality

MODALITIES = ("video", "state", "language", "action")
Arrays = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Version:
    """A version of the protocol.

    Attributes:
        name: as NVIDIA calls it.
        coding: of arrays.
        request: from video (T, height, width, 3), state (T, D) and language by the server's keys to the data of
            endpoint `get_action`.
        rows: from its answer to arrays by the server's keys; InvalidDataError where it is none.
    """

    name: str
    coding: Coding
    request: Callable[[Arrays, Arrays, Mapping[str, str]], dict[str, Any]]
    rows: Callable[[Any], Mapping[Any, Any]]


def _flat_request(video: Arrays, state: Arrays, language: Mapping[str, str]) -> dict[str, Any]:
    return {**video, **state, **{key: [text] for key, text in language.items()}}


def _flat_rows(answer: Any) -> Mapping[Any, Any]:
    if not isinstance(answer, Mapping):
        raise InvalidDataError(f"the answer is {type(answer).__name__}, a GR00T N1.5 server answers a map of actions")
    return {key: value[:, None] if np.ndim(value) == 1 else value for key, value in answer.items()}


def _batch_request(video: Arrays, state: Arrays, language: Mapping[str, str]) -> dict[str, Any]:
    observation = {
        "video": {key: frames[None] for key, frames in video.items()},
        "state": {key: numbers[None] for key, numbers in state.items()},
        "language": {key: [[text]] for key, text in language.items()},
    }
    return {"observation": observation, "options": None}


def _batch_rows(answer: Any) -> Mapping[Any, Any]:
    if not (isinstance(answer, list) and len(answer) == 2 and isinstance(answer[0], Mapping)):
        raise InvalidDataError(f"the answer is {_said(answer)}, must be a list of actions and information")
    return {key: value[0] if np.shape(value)[:1] == (1,) else value for key, value in answer[0].items()}


N1_5 = Version(name="N1.5", coding=Coding.NPY, request=_flat_request, rows=_flat_rows)
N1_6 = Version(name="N1.6 or N1.7 of April 2026", coding=Coding.NPY, request=_batch_request, rows=_batch_rows)
N1_7 = Version(name="N1.7", coding=Coding.BUFFER, request=_batch_request, rows=_batch_rows)
_BY_FORM = {
    ("__ModalityConfig_class__", True): N1_5,
    ("__ModalityConfig_class__", False): N1_6,
    ("__ModalityConfig__", False): N1_7,
}
"""How a modality is marked, and whether its values are a text, to the version that writes it so."""


def read_configuration(answer: Any) -> tuple[Version, dict[str, Modality]]:
    """Returns which version a server is and what it says of each modality, from its answer to `get_modality_config`.

    Raises:
        MismatchError: it is no such answer; the message says what came, and what would be one.
    """
    said = answer if isinstance(answer, Mapping) else {}
    found = {name: each for name in MODALITIES if isinstance(each := said.get(name), Modality)}
    if "video" not in found or "action" not in found:
        raise MismatchError(
            f"get_modality_config was answered with {_said(answer)}, expected a modality each for "
            f"{', '.join(MODALITIES)}: is it a GR00T server of version N1.5, N1.6 or N1.7?"
        )
    forms = {(each.marker, each.as_text) for each in found.values()}
    if len(forms) > 1 or (form := forms.pop()) not in _BY_FORM:
        raise MismatchError(
            f"the server describes its policy by {', '.join(sorted({each.marker for each in found.values()}))}, but "
            "not as N1.5, N1.6 and N1.7 do: it is another version of GR00T, which is not known here"
        )
    return _BY_FORM[form], found


def _said(answer: Any) -> str:
    """Returns what came, in a few words."""
    if isinstance(answer, Mapping):
        return f"a map of {', '.join(map(str, answer)) or 'nothing'}"[:200]
    if isinstance(answer, list):
        return f"a list of {', '.join(type(each).__name__ for each in answer) or 'nothing'}"[:200]
    return f"{type(answer).__name__} {answer!r:.80}"
