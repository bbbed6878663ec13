"""Makes the folder of a new robot: its profile, its URDF, its collision model and a picture, or nothing at all."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tendon.cli.collision_making import comments_on, fit_model
from tendon.cli.outputs import require_folder, writing
from tendon.core.errors import ConfigError
from tendon.core.files import free_place
from tendon.core.paths import share_folder
from tendon.pictures.robot_picture import draw_robot, save_picture
from tendon.pictures.robot_surface import robot_surface
from tendon.robots.collision.file import to_yaml
from tendon.robots.collision.fit import load_meshes
from tendon.robots.drafting.draft import draft_profile
from tendon.robots.drafting.text import profile_text
from tendon.robots.inspection.bodies import impossible_mass
from tendon.robots.packages import resolve
from tendon.robots.profile import RobotProfile, load_profile
from tendon.robots.profile_edit import name_collisions
from tendon.robots.srdf import read_srdf
from tendon.robots.urdf import parse_xml, read_urdf

SAMPLES = 10_000
SCHEMA = "profile.schema.json"
PROFILE, COLLISIONS, PICTURE = "profile.yaml", "collisions.yaml", "robot.png"


def make_robot(
    name: str,
    urdf: Path,
    srdf: Path | None,
    folder: Path,
    *,
    package_dir: Path | None = None,
    replacing: bool = False,
    samples: int = SAMPLES,
    say: Callable[[str], None] = print,
) -> RobotProfile:
    """Writes the folder of a new robot; on an error there is none, or the one that was there.

    Args:
        name: of the robot.
        urdf: its description, with collision shapes.
        srdf: its groups and states.
        folder: to write.
        package_dir: what `package://` stands for.
        replacing: the folder may be there, with a robot in it: it is replaced whole.
        samples: random configurations to look at for the collision model.
        say: is given each line that a person should read.

    Returns:
        The profile, as it loads from the folder.

    Raises:
        ConfigError: a file is missing or wrong, or the folder is there or cannot be written.
    """
    if folder.exists() and not replacing:
        raise ConfigError(f"{folder} is there already: take another --to, or --force to replace it")
    if folder.exists() and not (folder / PROFILE).is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder} holds something else than a robot, no {PROFILE}: it is not replaced")
    draft = draft_profile(name, urdf, srdf)
    if wrong := impossible_mass(urdf):
        raise ConfigError(f"URDF {urdf}: {wrong.where}: {wrong.text}; {wrong.advice}")
    disabled = read_srdf(srdf, read_urdf(urdf)).disabled if srdf is not None else {}
    meshes = load_meshes(urdf, package_dir)
    require_folder(folder.parent, "--to")
    with writing(folder), tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as place:
        new = Path(place) / folder.name
        new.mkdir()
        (new / f"{name}.urdf").write_bytes(_with_meshes(urdf, folder, package_dir))
        sources = " and ".join(file.name for file in (urdf, srdf) if file is not None)
        text = profile_text(draft, f"{name}.urdf", sources, _schema(folder))
        (new / PROFILE).write_text(text, encoding="utf-8")
        profile = load_profile(new / PROFILE)
        model, checked = fit_model(profile, meshes, samples, disabled=disabled)
        comments = comments_on(name, Path(f"{name}.urdf"), samples, profile, meshes)
        (new / COLLISIONS).write_text(to_yaml(model, comments), encoding="utf-8")
        name_collisions(new / PROFILE, COLLISIONS)
        profile = load_profile(new / PROFILE)
        home = profile.vector("home")
        # The given file: from the folder that is not in its place yet, its paths lead nowhere.
        surface = robot_surface(profile, home, urdf, package_dir)
        save_picture(draw_robot(profile, None, home, surface), new / PICTURE)
        kept = _put(new, folder)
    for remark in draft.remarks:
        say(remark)
    if kept is not None:
        say(f"the folder that was there is {kept} now")
    shapes = sum(map(len, model.bodies.values()))
    say(
        f"wrote {folder}: {len(profile.joints)} joints, {shapes} shapes on {len(meshes)} links, {checked} pairs checked"
    )
    return replace(profile, urdf=folder / f"{name}.urdf", collisions=folder / COLLISIONS)


def _with_meshes(urdf: Path, folder: Path, package_dir: Path | None) -> bytes:
    """Returns the text of a URDF that finds its meshes from a folder, by absolute paths where it has to."""
    text = urdf.read_bytes()
    for uri in {mesh.get("filename", "") for mesh in parse_xml(urdf).iter("mesh")}:
        if _is_found(uri, folder / urdf.name):
            continue
        path = str(resolve(uri, urdf, package_dir).resolve())
        quoted = re.compile(rb"(filename\s*=\s*[\"'])" + re.escape(uri.encode()) + rb"([\"'])")
        text = quoted.sub(lambda match, path=path: match[1] + path.encode() + match[2], text)  # type: ignore[misc]
    return text


def _is_found(uri: str, near: Path) -> bool:
    try:
        return uri.startswith("package://") and resolve(uri, near).is_file()
    except ConfigError:
        return False


def _schema(folder: Path) -> str:
    """Returns where an editor finds the schema from a profile in a folder."""
    if (folder.parent / SCHEMA).is_file():
        return f"../{SCHEMA}"
    return str(share_folder() / "robots" / SCHEMA)


def _put(new: Path, folder: Path) -> Path | None:
    """Moves a folder to its place, in one step each; returns where the one is that was there."""
    if not folder.exists() or not any(folder.iterdir()):
        new.replace(folder)
        return None
    before = free_place(folder)
    folder.rename(before)
    try:
        new.rename(folder)
    except OSError:
        before.rename(folder)
        raise
    return before
