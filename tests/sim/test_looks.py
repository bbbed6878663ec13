"""What robots look like: meshes are drawn whole, and a picture of a robot shows it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tendon.cli import main
from tendon.robots.profile import load_profile
from tendon.robots.urdf import parse_xml
from tendon.sim.mujoco.meshes import whole
from tendon.sim.mujoco.robot import add_robot
from tendon.sim.robot_body import robot_body

TWO = "mtllib a.mtl\no one\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl red\nf 1 2 3\no two\nv 0 0 1\nusemtl blue\nf 1 2 4\n"


def test_an_obj_file_of_several_objects_becomes_one(tmp_path: Path) -> None:
    file, near = tmp_path / "two.obj", tmp_path / "robot.urdf"
    file.write_text(TWO, encoding="utf-8")
    copy = whole(file, near)
    assert copy != file and copy.name == file.name
    assert copy.read_text(encoding="utf-8").splitlines() == [
        line for line in TWO.splitlines() if line.startswith(("v ", "f "))
    ]
    single = tmp_path / "one.obj"
    single.write_text(TWO[: TWO.index("o two")], encoding="utf-8")
    assert whole(single, near) == single
    assert whole(tmp_path / "arm.stl", near) == tmp_path / "arm.stl"


@pytest.mark.parametrize("fine", [False, True])
def test_mujoco_has_all_triangles_of_the_meshes(fine: bool) -> None:
    """Of an OBJ file with several objects it took the first: the Panda had no forearm in its pictures."""
    body = robot_body(load_profile("panda"), fine)
    model = add_robot(body).compile()
    files = {Path(mesh.get("filename", "")) for mesh in parse_xml(Path(body.urdf)).iter("mesh")}
    counted = {file.stem: _triangles(file) for file in files if file.suffix == ".obj"}
    assert counted
    for name, triangles in counted.items():
        assert model.mesh(name).facenum[0] == triangles, name


def _triangles(file: Path) -> int:
    faces = (line.split()[1:] for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("f "))
    return sum(len(corners) - 2 for corners in faces)


def test_the_command_draws_a_robot_as_it_looks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import cv2

    file = tmp_path / "so101.png"
    assert main(["robot", "show", "so101", "--looks", str(file)]) == 0
    assert f"wrote {file}" in capsys.readouterr().out
    pixels = cv2.imread(str(file))
    assert pixels is not None and pixels.shape == (640, 640, 3)
    blue, green, red = (pixels[..., k].astype(int) for k in range(3))
    assert 0.05 < float(np.mean((red > 150) & (green > 100) & (blue < 100))) < 0.6, "it is yellow"
