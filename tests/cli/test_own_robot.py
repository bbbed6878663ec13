"""`tendon robot new` and `tendon robot check` as their user runs them: a draft, what is unknown, what is wrong."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from tendon.cli import main
from tendon.core.paths import share_folder
from tendon.robots.collision.model import Pair
from tendon.robots.collision.pairs import PairSampler
from tendon.robots.profile import load_profile
from tests import ROOT
from tests.robots.small_robots import LIMIT, MASS, MIMIC, SMALL, SRDF, write

SHIPPED = sorted(path.parent.name for path in (share_folder() / "robots").glob("*/profile.yaml"))


@pytest.fixture(scope="module")
def drafted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working directory in which the command drafted a robot, with a small picture; no test changes it."""
    folder = tmp_path_factory.mktemp("drafted")
    urdf, srdf = write(folder, SMALL), write(folder, SRDF, "small.srdf")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr("tendon.pictures.robot_picture.SIZE", 96)
        assert main(["robot", "new", "mine", "--urdf", str(urdf), "--srdf", str(srdf)]) == 0
    return folder


@pytest.fixture
def small(drafted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A drafted robot's folder, in the working directory of a new user."""
    shutil.copytree(drafted, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "250")
    monkeypatch.setattr("tendon.pictures.robot_picture.SIZE", 96)
    return tmp_path / "robots" / "mine"


def fill_in(folder: Path, **changes: object) -> Path:
    """Takes away the list of unknowns, and changes what else is given; returns the profile's path."""
    path = folder / "profile.yaml"
    values = yaml.safe_load(path.read_text())
    values.pop("unknown")
    values["workspace"] = {"lower": [-0.5, -0.5, 0.1], "upper": [0.5, 0.5, 1.3]}
    values |= changes
    path.write_text(yaml.safe_dump(values, sort_keys=False))
    return path


def test_a_draft_loads_and_refuses_to_be_armed_until_it_is_filled_in(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sorted(path.name for path in small.iterdir()) == [
        "collisions.yaml",
        "mine.urdf",
        "profile.yaml",
        "robot.png",
    ]
    profile = load_profile(small / "profile.yaml")
    assert profile.groups["arm"] == ("joint1", "joint2", "joint3") and profile.tool_frame == "tcp"
    assert profile.vector("home").tolist()[:3] == [0.5, -0.5, 1.0] and "acceleration" in profile.unknown
    assert main(["run", f"robot:={small / 'profile.yaml'}", "backend:=mock", "policy:=none", "arm:=true"]) != 0
    assert "is not filled in" in capsys.readouterr().err
    assert main(["robot", "check", str(small / "profile.yaml")]) == 1
    assert "unknown: acceleration" in capsys.readouterr().out
    assert load_profile(fill_in(small)).arming_obstacle == ""


def test_a_home_that_is_a_guess_excuses_no_pair_of_links(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An arm that is folded into itself at zero was never checked against itself, whatever home came after."""
    asked = list[float]()

    def overlapping(sampler: PairSampler, home: Mapping[str, float]) -> set[Pair]:
        asked.append(home["joint1"])
        return {sampler.pairs[0]}

    monkeypatch.setattr(PairSampler, "overlapping_at", overlapping)
    monkeypatch.setattr("tendon.robots.collision.capsules.SPLIT_PLACES", (0.5,))  # how well it fits is not looked at
    assert main(["robot", "new", "guessed", "--urdf", "small.urdf"]) == 0
    assert not asked and "home" in load_profile("robots/guessed/profile.yaml").unknown
    assert main(["robot", "collisions", str(small / "profile.yaml")]) == 0
    assert asked == [0.5], "that of the SRDF"


def test_what_is_there_is_not_written_over(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mark = small / "notes.txt"
    mark.write_text("mine")
    arguments = ["robot", "new", "mine", "--urdf", "small.urdf"]
    assert main(arguments) != 0
    assert "is there already: take another --to, or --force" in capsys.readouterr().err and mark.exists()
    monkeypatch.setattr("tendon.robots.collision.capsules.SPLIT_PLACES", (0.5,))  # how well it fits is not looked at
    assert main([*arguments, "--force"]) == 0 and not mark.exists()
    kept = small.with_name(f"{small.name}.before")
    assert f"the folder that was there is {Path('robots') / kept.name} now" in capsys.readouterr().out
    assert (kept / "notes.txt").read_text() == "mine" and (kept / "profile.yaml").exists()
    other = small.parent / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("years of work")
    assert main(["robot", "new", "other", "--urdf", "small.urdf", "--force"]) != 0
    assert "holds something else than a robot" in capsys.readouterr().err and (other / "thesis.tex").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nothing", "is not XML"),
        (SMALL.replace(LIMIT, "", 1), "joint joint1 has no <limit>"),
        (SMALL.replace('lower="-2"', 'lower="3"', 1), "limit lower of joint joint1 is 3, above its upper, 2.5"),
        (SMALL.replace('mass value="1"', 'mass value="-1"', 1), "link base: its mass is -1 kg; correct its <inertial>"),
        (
            SMALL.replace('<cylinder radius="0.03" length="0.2"/>', '<mesh filename="package://no/a.stl"/>', 1),
            "no package no",
        ),
    ],
)
def test_a_robot_that_cannot_be_drafted_leaves_nothing(
    tmp_path: Path, text: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, text)
    assert main(["robot", "new", "mine", "--urdf", "small.urdf"]) != 0
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
    assert not (tmp_path / "robots").exists() or not list((tmp_path / "robots").iterdir())


def joints(folder: Path, **changes: object) -> list[dict[str, object]]:
    """The joints of a profile, the first one changed."""
    found: list[dict[str, object]] = yaml.safe_load((folder / "profile.yaml").read_text())["joints"]
    return [found[0] | changes, *found[1:]]


@pytest.mark.parametrize("robot", SHIPPED)
def test_nothing_has_to_be_mended_in_a_robot_that_comes_with_tendon(
    robot: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["robot", "check", robot]) == 0
    assert "0 errors" in capsys.readouterr().out


def test_a_drafted_robot_that_is_filled_in_is_in_order(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["robot", "check", str(fill_in(small))]) == 0
    assert "0 errors" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"upper": 3.0}, "go beyond the URDF's, -2 and 2.5"),
        ({"velocity": 2.0}, "velocity 2 is above the URDF's 1.5"),
        ({"home": 2.5}, "its home 2.5 is at its limit"),
        ({"acceleration": 0.1}, "brakes over more than its whole range at 0.1"),
    ],
)
def test_joints_are_looked_at(
    small: Path, changes: dict[str, object], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["robot", "check", str(fill_in(small, joints=joints(small, **changes)))])
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (MASS, "", "moving link"),
        (
            MASS,
            MASS.replace('mass value="1"', 'mass value="0"'),
            "moving links have a shape and no mass: shoulder, elbow",
        ),
        (MASS, MASS.replace('mass value="1"', 'mass value="-1"'), "error"),
        (MASS, MASS.replace('ixx="0.01"', 'ixx="-0.01"'), "none can be negative"),
        (MASS, MASS.replace("0.01", "10000"), "are too large for 1 kg"),
        (MIMIC, "", "which nothing moves"),
        ('name="joint1" type="revolute"', 'name="joint1" type="continuous"', "it is continuous in the URDF"),
    ],
)
def test_the_description_is_looked_at(
    small: Path, old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    urdf = small / "mine.urdf"
    urdf.write_text(urdf.read_text().replace(old, new))
    main(["robot", "check", str(fill_in(small))])
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"workspace": {"lower": [5.0, 5.0, 5.0], "upper": [6.0, 6.0, 6.0]}}, "the tool reaches 0% of it"),
        ({"tool_frame": "shoulder"}, "it is in group arm and does not move the tool frame shoulder"),
        ({"collisions": "none"}, "nothing keeps the robot off itself"),
    ],
)
def test_the_profile_is_looked_at(
    small: Path, changes: dict[str, object], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["robot", "check", str(fill_in(small, **changes))])
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("lower", "code", "said"), [(0.0, 0, "is in it in 100% of 200 postures"), (0.65, 1, "is in it in 0% of 200")]
)
def test_an_arm_that_fills_no_space_is_judged_by_where_it_goes(
    lower: float,
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The smallest example reaches a surface, so none of 200 random places, and failed the check."""
    monkeypatch.setenv("COLUMNS", "250")
    folder = shutil.copytree(ROOT / "docs" / "examples" / "two_joint_arm", tmp_path / "two_joint_arm")
    profile = folder / "profile.yaml"
    profile.write_text(profile.read_text().replace("lower: [-0.5, -0.5, 0.0]", f"lower: [-0.5, -0.5, {lower}]"))
    assert main(["robot", "check", str(folder)]) == code
    assert said in capsys.readouterr().out
