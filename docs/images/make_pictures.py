"""Makes the pictures of README and docs that are no results: `python docs/images/make_pictures.py [outputs/demo]`.

From the folder that `make demo` left: `demo.webp`, the video small enough for README, and `timeline.png`. From the
manufacturers' meshes in the package example-robot-data: the collision models of Panda and G1 (two minutes).
"""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import files
from pathlib import Path

import av
from PIL import Image

HERE = Path(__file__).parent
WIDTH, EVERY = 720, 2
"""Of the moving picture [px], and which of the video's 20 frames a second it keeps."""

QUALITY = 55
LAST_FRAME_MS = 2000
ROBOTS = {
    "panda": ("collisions-panda.png", "panda_description/urdf/panda.urdf", ["--environment", "tabletop"]),
    "g1_arms": ("collisions-g1-arms.png", "g1_description/urdf/g1_29dof_rev_1_0.urdf", []),
}


def main() -> None:
    """Makes them all."""
    demo = Path(sys.argv[1] if len(sys.argv) > 1 else "outputs/demo")
    write_moving(demo / "demo.mp4", HERE / "demo.webp")
    shrink(Image.open(demo / "timeline.png"), HERE / "timeline.png")
    for robot, (name, urdf, options) in ROBOTS.items():
        found = next(path for path in files("example-robot-data") or [] if str(path).endswith(urdf))
        given = [robot, "--urdf", str(found.locate()), "--picture", str(HERE / name), *options]
        subprocess.run([sys.executable, "-m", "tendon.cli", "robot", "show", *given], check=True)
        shrink(Image.open(HERE / name), HERE / name)


def write_moving(video: Path, out: Path) -> None:
    """Writes a video as an animated WebP that plays for ever."""
    with av.open(str(video)) as container:
        rate = float(container.streams.video[0].average_rate or 20)
        frames = [frame.to_image() for frame in container.decode(video=0)][::EVERY]
    height = round(frames[0].height * WIDTH / frames[0].width)
    small = [frame.resize((WIDTH, height), Image.Resampling.LANCZOS) for frame in frames]
    periods = [round(1000 * EVERY / rate)] * (len(small) - 1) + [LAST_FRAME_MS]
    small[0].save(out, save_all=True, append_images=small[1:], duration=periods, loop=0, quality=QUALITY, method=4)
    print(f"wrote {out}: {len(small)} frames, {out.stat().st_size / 1e6:.2f} MB")


def shrink(picture: Image.Image, out: Path) -> None:
    """Writes a drawing with 256 colours: a third of the size, and nobody sees it."""
    picture.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(out, optimize=True)


if __name__ == "__main__":
    main()
