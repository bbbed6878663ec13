"""A page shows what it is given, and no text of a policy or a task becomes a part of it."""

from __future__ import annotations

import io
import re
from html.parser import HTMLParser

import av
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.evaluation import pool
from tendon.evaluation.episode import Setting, Timing
from tendon.evaluation.page import charts
from tendon.evaluation.page.document import Document
from tendon.evaluation.page.films import films, worth_seeing
from tendon.evaluation.pool import Job, run_job
from tendon.evaluation.statistics import wilson
from tendon.evaluation.suites import load_suite
from tests.laws import law_settings

TAGS = {"html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "table", "thead", "tbody", "tr", "th", "td"}


class Tags(HTMLParser):
    """What a browser finds."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@law_settings(max_examples=60)
@given(st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=30))
def test_any_text_is_shown_as_it_is_and_is_nothing_else(text: str) -> None:
    document = Document(f"<script>{text}", text)
    document.table(["a", text], [(text, 1), (text, 2.5)])
    document.facts({text: text})
    document.say(text, "note")
    found = Tags()
    found.feed(str(document))
    assert found.tags <= TAGS
    assert "".join(found.words).count(text) >= 7 if text else True


def test_two_plots_in_a_page_share_no_name() -> None:
    document = Document("two", "")
    for _ in range(2):
        document.plot(charts.rates(["pick", "all"], {"A": [wilson(3, 4)] * 2, "B": [wilson(0, 4)] * 2}), "bars")
        document.plot(charts.by_strength({"pose": {1.0: wilson(1, 4)}, "delay": {1.0: wilson(4, 4)}}, wilson(2, 4)), "")
    names = re.findall(r'\bid="([^"]+)"', str(document))
    assert len(names) == len(set(names)) > 20
    used = set(re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', str(document)))
    assert {one or other for one, other in used} <= set(names)


def test_a_failure_is_seen_as_it_happened_and_of_each_family_one_before_two(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = Setting(timing=Timing.OVERWRITE, limit_s=0.6)
    runs = [run_job(Job(bundle="expert", robot="panda", seed=seed, setting=setting)) for seed in (100_000, 100_006)]
    runs.append(run_job(Job(bundle="expert", robot="panda", seed=100_001, setting=setting)))
    chosen = worth_seeing(runs, 2)
    assert len({episode.family for _, episode in chosen}) == 2 and len(worth_seeing(runs, 9)) == 3
    opened: list[str] = []
    monkeypatch.setattr(pool, "load_suite", lambda name: opened.append(name) or load_suite(name))
    (film, caption), _ = films(chosen)
    assert len(opened) == 1, "one world is enough for both"
    assert "not done within 0.6 s" in caption
    with av.open(io.BytesIO(film)) as container:
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    assert len(frames) in (6, 7) and frames[0].shape == (288, 288, 3) and frames[0].std() > 10
