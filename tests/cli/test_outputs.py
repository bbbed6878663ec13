"""What cannot be written is one line before the work begins, and what the system refuses later is one line too."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tendon.cli import main
from tendon.cli.outputs import (
    own_folder,
    require_apart,
    require_file,
    require_folder,
    require_ours,
    system_error,
    write_whole,
    writing,
)
from tendon.core.errors import ConfigError

ROOT = os.geteuid() == 0


def tendon(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tendon.cli", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **environment},
    )


@contextlib.contextmanager
def sealed(folder: Path) -> Iterator[Path]:
    """Lets nobody write in a folder; for root, whom permissions do not stop, it is mounted onto itself so."""
    if ROOT:
        if subprocess.run(["mount", "--bind", str(folder), str(folder)], capture_output=True).returncode:
            pytest.skip("root without the right to mount: nothing is read-only here")
        subprocess.run(["mount", "-o", "remount,bind,ro", str(folder)], check=True)
    else:
        folder.chmod(0o555)
    try:
        yield folder
    finally:
        if ROOT:
            subprocess.run(["umount", str(folder)], check=True)
        else:
            folder.chmod(0o755)


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """An empty folder that nobody may write in."""
    folder = tmp_path / "read_only"
    folder.mkdir()
    with sealed(folder):
        yield folder


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    """A file system on which nothing has room any more."""
    folder = tmp_path / "full"
    folder.mkdir()
    if not ROOT or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]).returncode:
        pytest.skip("only root may mount a file system to fill")
    try:
        with (folder / "filler").open("wb", buffering=0) as filler, pytest.raises(OSError, match="No space left"):
            while True:
                filler.write(bytes(4096))
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


class TestBeforeTheWork:
    """The place is tried first."""

    def test_a_place_that_can_be_written_is_left_as_it_was(self, tmp_path: Path) -> None:
        kept = tmp_path / "kept.json"
        kept.write_text("kept")
        require_folder(tmp_path / "a" / "b")
        require_file(kept)
        require_file(tmp_path / "new" / "file.json")
        assert kept.read_text() == "kept"
        assert list((tmp_path / "a" / "b").iterdir()) == list((tmp_path / "new").iterdir()) == []

    @pytest.mark.parametrize("require", [require_folder, require_file])
    def test_below_a_file_nothing_can_be_made(self, tmp_path: Path, require: Callable[[Path], None]) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(ConfigError, match=r"--out .*file/x.* cannot be written: .*; choose another"):
            require(tmp_path / "file" / "x" / "y")

    def test_a_folder_is_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="cannot be written: Is a directory"):
            require_file(tmp_path)

    def test_a_read_only_place(self, read_only: Path) -> None:
        with pytest.raises(ConfigError, match=r"cannot be written: (Read-only file system|Permission denied)"):
            require_folder(read_only / "demo")

    def test_a_full_disk(self, full: Path) -> None:
        """A file can be made there, but nothing can be written in it."""
        with pytest.raises(ConfigError, match="cannot be written: No space left on device"):
            require_folder(full)

    def test_a_device_that_is_full(self) -> None:
        with pytest.raises(ConfigError, match="--out /dev/full cannot be written: No space left on device; choose"):
            require_file(Path("/dev/full"))
        require_file(Path("/dev/null"))

    @pytest.mark.parametrize(
        ("arguments", "suffix"),
        [
            (("data", "plot", "none", "--out"), ".png"),
            (("data", "quality", "none", "--out"), ".html"),
            (("data", "record-inputs", "tabletop"), ".safetensors"),
        ],
    )
    def test_a_slip_replaces_no_profile(
        self, tmp_path: Path, arguments: tuple[str, ...], suffix: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        profile = tmp_path / "profile.yaml"
        profile.write_text("name: mine")
        assert main([*arguments, str(profile)]) == 2
        assert f"profile.yaml must end in {suffix}" in capsys.readouterr().err
        assert profile.read_text() == "name: mine"

    @pytest.mark.parametrize(
        "arguments",
        [
            ("demo", "--out"),
            ("eval", "run", "tabletop", "--seeds", "100000:100001", "--out"),
            ("eval", "run", "tabletop", "--seeds", "100000:100001", "--junit"),
            ("data", "demos", "--out"),
            ("data", "plot", "none", "--out"),
        ],
    )
    def test_commands_that_work_long_say_so_at_once(
        self, tmp_path: Path, arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The test below runs such commands in processes of their own."""
        (tmp_path / "file").write_text("")
        code, said = main([*arguments, str(tmp_path / "file" / "x.png")]), capsys.readouterr()
        assert (code, said.out) == (2, "")
        assert said.err.count("\n") == 1 and "cannot be written: " in said.err

    @pytest.mark.parametrize(
        "command", [("train-progress", "--data", "nowhere"), ("calibrate-detector",)], ids=lambda c: c[0]
    )
    def test_so_do_those_that_write_into_a_bundle(self, tmp_path: Path, command: tuple[str, ...]) -> None:
        bundle = tmp_path / "bundle"
        shutil.copytree("bundles/tabletop", bundle)
        with sealed(bundle):
            result = tendon("policy", command[0], str(bundle), *command[1:])
            assert (result.returncode, result.stdout) == (2, "")
            assert result.stderr.count("\n") == 1 and f"bundle {bundle} cannot be written: " in result.stderr


class TestWhatTheSystemRefuses:
    """Nobody foresaw it, and still there is no traceback."""

    def test_the_error_names_file_and_reason(self) -> None:
        try:
            Path("/nowhere/file").write_text("")
        except OSError as error:
            assert system_error(error) == "/nowhere/file: No such file or directory"
        assert system_error(OSError("odd")) == "odd"
        assert system_error(TimeoutError()) == "TimeoutError"

    def test_a_disk_that_has_become_full_is_named(self, full: Path) -> None:
        """The system's error of a write knows no name."""
        with pytest.raises(ConfigError, match="full cannot be written: No space left on device"), writing(full):
            (full / "video").write_bytes(bytes(4096))

    def test_a_command_says_it_in_one_line(self, tmp_path: Path) -> None:
        """A log that is a folder."""
        result = tendon("safety", "verify-log", str(tmp_path))
        assert result.returncode == 2
        assert result.stderr.startswith("tendon safety verify-log: ") and result.stderr.count("\n") == 1

    @pytest.mark.parametrize(
        ("line", "code"), [("--version > /dev/full", 2), ("--help > /dev/full", 2), ("doctor >&-", 0)]
    )
    def test_a_full_or_closed_output_is_no_traceback(self, line: str, code: int) -> None:
        command = f'"{sys.executable}" -m tendon.cli {line}'
        result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=300)
        assert result.returncode in (code, 120), result.stderr  # 120: Python could not empty the buffer at its end
        assert "Traceback" not in result.stderr and (not code or "No space left on device" in result.stderr)

    @pytest.mark.parametrize(
        ("words", "unbuffered"),
        [
            ("doctor", "-u"),
            ("doctor", ""),
            ("robot check panda", ""),
            ("--help", "-u"),
            ("--help", ""),
            ("eval --help", "-u"),
            ("--version", ""),
        ],
    )
    def test_a_reader_that_goes_away_is_no_error(self, words: str, unbuffered: str) -> None:
        """`tendon ... | head -1`; the pipe is closed before anything is written."""
        command = f'"{sys.executable}" {unbuffered} -m tendon.cli {words} | exec true; exit ${{PIPESTATUS[0]}}'
        result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=300)
        assert (result.returncode, result.stderr) == (141, "")


class TestWhatIsElsewhere:
    """Devices, pipes and links: what is written there goes somewhere else."""

    def test_standard_output_keeps_what_it_has(self, tmp_path: Path) -> None:
        """Where it leads to a file, that file was replaced: a log was lost."""
        log = tmp_path / "log"
        program = "from tendon.cli.outputs import *; require_file(Path('/dev/stdout')); print('before');"
        program += "write_whole(Path('/dev/stdout'), 'told'); print('after')"
        for sign in (">", ">>"):
            line = f'echo first {sign} "{log}"; "{sys.executable}" -c "{program}" >> "{log}"'
            subprocess.run(["bash", "-c", line], check=True, timeout=60)
            assert log.read_text().split()[-4:] == ["first", "before", "told", "after"]

    def test_a_pipe_has_its_reader_until_it_is_written_to(self, tmp_path: Path) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        require_file(pipe)
        with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
            require_file(pipe)
            require_ours(pipe, "--out", b"mark")
            write_whole(pipe, "told")
            assert reader.communicate(timeout=30)[0] == b"told"

    def test_a_link_that_leads_nowhere_yet_stays_one(self, tmp_path: Path) -> None:
        link, target = tmp_path / "link", tmp_path / "target"
        link.symlink_to("target")
        require_file(link)
        assert link.is_symlink() and not target.exists()
        write_whole(link, "told")
        assert link.is_symlink() and target.read_text() == "told"

    def test_two_may_be_thrown_away(self) -> None:
        require_apart(out=Path("/dev/null"), junit=Path("/dev/null"))


class TestOwnFolder:
    """Of a command that removes what its last run left."""

    def test_what_it_made_is_its_own(self, tmp_path: Path) -> None:
        place, before = tmp_path / "new", tmp_path / "before"
        for _ in range(2):
            with own_folder(place, "tendon demo", ("state",)):
                (place / "notes").write_text("mine")
        before.mkdir()
        (before / "state").mkdir()
        again = partial(own_folder, before, "tendon demo", ("state", "graph.log"), "graph.log")
        with pytest.raises(ConfigError, match="holds what `tendon demo` did not make"), again():
            pass
        (before / "graph.log").touch()
        with again():
            pass

    def test_two_runs_do_not_empty_one_anothers(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        with own_folder(tmp_path / "one", "tendon demo"):
            assert main(["demo", "--out", str(tmp_path / "one")]) == 2
        assert f"{tmp_path / 'one'}: is being written: wait until that has ended" in capsys.readouterr().err

    @pytest.mark.parametrize("command", ["demo", "calibrate demo"])
    def test_what_others_made_stays(self, tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
        """`tendon calibrate demo` removed the session of the real robot, which is where the guide puts it."""
        (tmp_path / "session").mkdir()
        (tmp_path / "session" / "photo.png").write_bytes(b"mine")
        assert main([*command.split(), "--out", str(tmp_path)]) == 2
        assert f"--out {tmp_path} holds what `tendon {command}` did not make" in capsys.readouterr().err
        assert [each.name for each in tmp_path.rglob("*")] == ["session", "photo.png"]


def test_files_of_one_command_do_not_replace_each_other(tmp_path: Path) -> None:
    require_apart(out=tmp_path / "a", report=tmp_path / "b", junit=None, suite=Path("tabletop"))
    with pytest.raises(ConfigError, match=r"--report and --a-b are one file, .*/a: name another one"):
        require_apart(report=tmp_path / "a", out=None, a_b=tmp_path / "x" / ".." / "a")
