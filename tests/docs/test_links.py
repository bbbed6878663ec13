"""What documents, code and messages say of files is so: each path exists, each page is in the site's menu."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))

CITED = re.compile(r"(?<![\w/.-])docs/[\w./-]*\w")
"""A path below docs/, without the full stop or bracket after it."""

PARTS = "benchmarks|bundles|docs|environments|examples|launch|policies|recipes|robots|ros2_nodes|sim|tendon|tests"
IN_CODE = re.compile(rf"`((?:{PARTS})/[\w./-]*)`")
"""What may be a path of the repository in a code span."""

NO_PATH = re.compile(r".*[A-Z]{3}.*|(sim|tendon)/[a-z_]+|examples/droid/main\.py")
"""A place holder in capitals; a topic, or a key of the protocol of `tendon policy serve`; a file of openpi."""

LINK = re.compile(r"\]\(([^)\s]+)\)")
HISTORY = {"CHANGELOG.md"}
"""It names files that were."""

MADE = ("docs/results/claims/PAGE.yaml", "docs/results/claims/safety-filter.yaml", "docs/results/rows/safety-filter")
"""Examples of files that a benchmark of somebody's own would have."""

pytestmark = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs a git checkout to know its files")


def tracked() -> Iterator[tuple[str, str]]:
    """Yields name and text of every text file that belongs to the repository, but for rows of results."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in listed.split("\0"):
        file = ROOT / name
        if not name or file.is_symlink() or not file.is_file() or file.suffix in (".jsonl", ".png", ".webp"):
            continue
        try:
            yield name, file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


def test_every_page_that_is_cited_exists() -> None:
    """In README, code, messages, tests, configuration and the pages themselves."""
    wrong = [
        f"{name}: {path}"
        for name, text in tracked()
        if name not in HISTORY and not name.startswith("tests/docs/")
        for path in CITED.findall(text)
        if not (ROOT / path).exists() and not path.startswith(MADE)
    ]
    assert not wrong, "\n".join(wrong)


def test_every_file_that_a_document_names_exists() -> None:
    """Such as `tests/ros2_nodes/` in CONTRIBUTING."""
    documents = [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    wrong = [
        f"{file.relative_to(ROOT)}: {path}"
        for file in documents
        for path in IN_CODE.findall(file.read_text(encoding="utf-8"))
        if not NO_PATH.fullmatch(path) and not path.startswith(MADE) and not (ROOT / path).exists()
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("file", ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"])
def test_links_beside_the_site_lead_somewhere(file: str) -> None:
    """MkDocs looks at docs/ only."""
    links = LINK.findall((ROOT / file).read_text(encoding="utf-8"))
    paths = [link.partition("#")[0] for link in links if not re.match(r"[a-z]+:", link)]
    assert [path for path in paths if path and not (ROOT / path).exists()] == []


class _Loader(yaml.SafeLoader):
    """Reads mkdocs.yml, whose tags name functions of plugins."""


_Loader.add_multi_constructor("tag:yaml.org,2002:python/name:", lambda *_: None)


def menu(entry: object) -> Iterator[str]:
    """Yields the pages of a part of the menu."""
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, dict):
        for each in entry.values():
            yield from menu(each)
    elif isinstance(entry, list):
        for each in entry:
            yield from menu(each)


def test_the_menu_of_the_site_has_every_page_once() -> None:
    """`make docs` fails without it; here it is seen without MkDocs."""
    config = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), _Loader)
    assert sorted(menu(config["nav"])) == sorted(page.relative_to(DOCS).as_posix() for page in PAGES)


def test_a_warning_of_mkdocs_ends_the_build() -> None:
    """With --quiet it counts none: a broken link would pass."""
    (line,) = re.findall(r"^.* mkdocs build .*$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert "--strict" in line and "--quiet" not in line


def test_the_site_asks_nobody_for_fonts() -> None:
    config = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), _Loader)
    assert config["theme"]["font"] is False
    assert "mermaid" not in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


def definitions(file: Path) -> set[str]:
    """Returns the functions of a file, and its classes and methods as `Class` and `Class.method`."""
    names: set[str] = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            functions = [each for each in node.body if isinstance(each, ast.FunctionDef)]
            names |= {node.name, *(f"{node.name}.{each.name}" for each in functions)}
        elif isinstance(node, ast.FunctionDef):
            names.add(node.name)
    return names


PATH_PAGE = (DOCS / "concepts" / "path.md").read_text(encoding="utf-8")
HOPS = re.findall(r"^\| \d+\. .* \| `([\w.]+)` \| `([\w/]+\.py)` \|$", PATH_PAGE, re.MULTILINE)
BESIDE = re.findall(r"`([A-Za-z_.]+)`\s+\(`([\w/]+\.py)`", PATH_PAGE)


@pytest.mark.parametrize(("function", "file"), [*HOPS, *BESIDE])
def test_each_hop_of_a_command_is_done_where_the_page_says(function: str, file: str) -> None:
    """docs/concepts/path.md names a function and its file for every hop."""
    module = Path(file).stem
    assert function.removeprefix(f"{module}.") in definitions(ROOT / file)


def test_the_path_of_a_command_has_ten_hops() -> None:
    assert len(HOPS) == 10 and len(BESIDE) >= 10


def test_every_name_on_that_page_is_one_of_the_code() -> None:
    """`Class.method` anywhere in it."""
    known = {
        name
        for folder in ("tendon", "policies", "ros2_nodes", "sim")
        for file in (ROOT / folder).rglob("*.py")
        if not file.is_symlink()
        for name in definitions(file)
    }
    spans = re.findall(r"`([A-Z]\w+\.\w+)`", PATH_PAGE)
    assert [span for span in spans if span not in known] == []
