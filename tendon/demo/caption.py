"""What the video of a run says at each moment, and how that is drawn around the pictures."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from tendon.core.modes import Mode
from tendon.demo.measurements import observation_to_command_ms, takeover_ns
from tendon.demo.recording import Attempt, Outcome, Recording
from tendon.pictures.fonts import fitting_font, font

VIEW = (720, 540)
INSET = 244
MARGIN = 10
LABEL = 22
SIZE = (VIEW[0] + INSET + 2 * MARGIN, VIEW[1] + 88)
"""Width and height of a frame [px]; both even, as H.264 wants them."""

TOAST_S = 1.8
BACKGROUND, RAISED, INK, FAINT = (17, 22, 29), (38, 46, 57), (240, 243, 246), (140, 150, 162)
GREEN, AMBER, RED, BLUE = (86, 197, 120), (246, 183, 60), (235, 94, 86), (110, 178, 240)
MODE_COLOURS = {Mode.ARMED: BLUE, Mode.RUNNING: GREEN, Mode.STOPPING: AMBER, Mode.LATCHED: RED}
OUTCOME_COLOURS = {Outcome.DONE: GREEN, Outcome.SWITCHED: AMBER, Outcome.NOT_DONE: RED}

Pixels = npt.NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class Caption:
    """The words of one frame.

    Attributes:
        instruction: the one that is running, or ran last.
        mode: the control node's; standby before it was heard.
        time_s: since arming.
        latency_ms: from the exposure behind the running chunk to its first command; `None` before the first.
        outcomes: of each instruction of the run; `None` for one that has not ended yet.
        current: which of them is running, counted from 0; -1 before the first.
        toast: what has just happened; empty when nothing has.
        toast_outcome: what that was.
    """

    instruction: str
    mode: Mode
    time_s: float
    latency_ms: float | None
    outcomes: tuple[Outcome | None, ...]
    current: int
    toast: str = ""
    toast_outcome: Outcome | None = None


def caption_at(recording: Recording, at_ns: int) -> Caption:
    """Returns the caption of a moment of a run."""
    attempts = recording.attempts
    current = sum(attempt.begin_ns <= at_ns for attempt in attempts) - 1
    latencies = observation_to_command_ms(recording)
    taken = int(np.searchsorted(takeover_ns(recording)[: len(latencies)], at_ns, side="right"))
    ended = [attempt for attempt in attempts if 0 <= at_ns - attempt.end_ns < TOAST_S * 1e9]
    return Caption(
        instruction=attempts[current].instruction if current >= 0 else "",
        mode=recording.mode_at(at_ns) or Mode.STANDBY,
        time_s=(at_ns - recording.begin_ns) * 1e-9,
        latency_ms=float(latencies[taken - 1]) if taken else None,
        outcomes=tuple(a.outcome if a.end_ns <= at_ns else None for a in attempts),
        current=current,
        toast=_toast(ended[-1]) if ended else "",
        toast_outcome=ended[-1].outcome if ended else None,
    )


def _toast(attempt: Attempt) -> str:
    return {
        Outcome.DONE: f"✔  done: {attempt.instruction}",
        Outcome.SWITCHED: "↪  new instruction in mid-motion",
        Outcome.NOT_DONE: f"✘  not done: {attempt.instruction}",
    }[attempt.outcome]


class Frame:
    """Puts a view, the policy's pictures and a caption together."""

    def __init__(self) -> None:
        self._text, self._small, self._strong = font(16), font(13), font(17, bold=True)

    def compose(self, view: Pixels, insets: dict[str, Pixels], caption: Caption) -> Pixels:
        """Returns the frame, (height, width, 3) uint8 RGB.

        Args:
            view: `VIEW` [px].
            insets: camera name to the picture the policy got, of any size.
            caption: the words.
        """
        canvas = Image.new("RGB", SIZE, BACKGROUND)
        canvas.paste(Image.fromarray(view), (0, 0))
        draw = ImageDraw.Draw(canvas, "RGBA")
        y = 0
        for name, pixels in insets.items():
            height, width, _ = pixels.shape
            scaled = cv2.resize(pixels, (INSET, INSET), interpolation=cv2.INTER_CUBIC)
            draw.text((VIEW[0] + MARGIN, y + 4), f"policy sees: {name}", font=self._small, fill=INK)
            size = f"{width} x {height}"
            draw.text((SIZE[0] - MARGIN, y + 4), size, font=self._small, fill=FAINT, anchor="ra")
            canvas.paste(Image.fromarray(scaled), (VIEW[0] + MARGIN, y + LABEL))
            y += INSET + LABEL + 6
        self._footer(draw, caption)
        self._announce(draw, caption)
        return np.asarray(canvas)

    def _footer(self, draw: ImageDraw.ImageDraw, caption: Caption) -> None:
        top, right = VIEW[1], SIZE[0] - 14
        words = f"“{caption.instruction}”" if caption.instruction else "…"
        mode = caption.mode.value
        width = draw.textlength(mode, font=self._strong)
        title = fitting_font(words, 25, right - width - 24 - 16 - MARGIN, bold=True)
        draw.text((16, top + 29), words, font=title, fill=INK, anchor="lm")
        x = 18
        for k, outcome in enumerate(caption.outcomes):
            colour = FAINT if k > caption.current else INK if outcome is None else OUTCOME_COLOURS[outcome]
            mark = {Outcome.DONE: "✔", Outcome.SWITCHED: "↪", Outcome.NOT_DONE: "✘", None: "●"}[outcome]
            draw.text((x, top + 54), mark if k <= caption.current else "○", font=self._text, fill=colour)
            x += 26
        latency = "" if caption.latency_ms is None else f"latency {caption.latency_ms:.0f} ms, simulated"
        draw.text((x + 14, top + 55), latency, font=self._text, fill=FAINT)
        colour = MODE_COLOURS.get(caption.mode, FAINT)
        draw.rounded_rectangle((right - width - 24, top + 14, right, top + 44), radius=15, fill=(*colour, 48))
        draw.text((right - 12, top + 19), mode, font=self._strong, fill=colour, anchor="ra")
        draw.text((right - 12, top + 55), f"{caption.time_s:.1f} s", font=self._text, fill=FAINT, anchor="ra")

    def _announce(self, draw: ImageDraw.ImageDraw, caption: Caption) -> None:
        if caption.toast_outcome is None:
            return
        left, middle = 0.38 * SIZE[0], VIEW[1] + 65  # between latency and time: over the view it would hide things
        words = fitting_font(caption.toast, 17, 0.54 * SIZE[0] - 24, bold=True)
        colour = OUTCOME_COLOURS[caption.toast_outcome]
        box = (left, middle - 14, left + draw.textlength(caption.toast, font=words) + 24, middle + 14)
        draw.rounded_rectangle(box, radius=8, fill=(*colour, 36))
        draw.text((left + 12, middle), caption.toast, font=words, fill=colour, anchor="lm")
