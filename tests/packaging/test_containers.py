"""The Dockerfile and the dev container, as far as they can be checked without a daemon."""

from __future__ import annotations

import json
import re
import subprocess

from tendon.cli.tree import Group, walk
from tests import ROOT

DOCKERFILE = (ROOT / "Dockerfile").read_text()


def test_what_is_copied_is_there_and_the_entry_is_a_script_that_runs_its_command() -> None:
    sources = re.findall(r"^COPY (?:--\S+ )?(\S+) \S+$", DOCKERFILE, re.MULTILINE)
    assert sources and all((ROOT / source).exists() for source in sources)
    entry = ROOT / ".devcontainer" / "entry.sh"
    assert entry.stat().st_mode & 0o111
    assert subprocess.run(["bash", "-n", entry]).returncode == 0 and 'exec "$@"' in entry.read_text()


def test_extras_and_commands_exist() -> None:
    (extras,) = re.findall(r"/opt/source\[([a-z,]+)\]", DOCKERFILE)
    setup = (ROOT / "setup.py").read_text()
    assert all(f'"{extra}": ' in setup for extra in extras.split(","))
    commands = {" ".join(command) for command in walk(Group())}
    page = (ROOT / "docs" / "how-to" / "containers.md").read_text()
    assert set(re.findall(r"tendon tendon ([a-z]+)", page + DOCKERFILE)) <= commands
    assert json.loads(re.findall(r"^CMD (\[.*tendon.*\])$", DOCKERFILE, re.MULTILINE)[0])[1] in commands


def test_the_dev_container_builds_a_stage_that_there_is() -> None:
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    build = container["build"]
    assert (ROOT / ".devcontainer" / build["dockerfile"]).resolve() == ROOT / "Dockerfile"
    stages = re.findall(r"^FROM \S+ AS (\S+)$", DOCKERFILE, re.MULTILINE)
    assert build["target"] in stages
    target = container["postCreateCommand"].removeprefix("make ")
    assert f"\n{target}:" in (ROOT / "Makefile").read_text()
    assert f"--shell /bin/bash --groups dialout,video {container['remoteUser']}\n" in DOCKERFILE


def test_nothing_large_or_private_is_sent_to_the_builder() -> None:
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert {".git", ".venv*", "outputs"} <= set(ignored)
