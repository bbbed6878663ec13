"""A camera in a MuJoCo model that is put where it is to look from, picture by picture."""

from __future__ import annotations

import atexit
import math
import os
import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from tendon.core.errors import MissingDependencyError
from tendon.robots.camera_view import camera_axes
from tendon.sim.engine import Light, View
from tendon.sim.mujoco.client import GL_VARIABLE, mujoco

EYE, LAMP = "eye", "lamp"
GEOMS = 2000
_of_thread = threading.local()


def add_camera(spec: Any, fine: bool) -> None:
    """Adds camera and lamp.

    Args:
        spec: gets them.
        fine: with shadows, smoothed edges and a sky, which a processor takes thirty times as long for.
    """
    spec.worldbody.add_camera(name=EYE)
    lamp = spec.worldbody.add_light(name=LAMP, castshadow=fine)
    lamp.type = mujoco.mjtLightType.mjLIGHT_DIRECTIONAL
    spec.stat.extent = 1.0  # of the model otherwise, which changes with what is in it
    # What comes from everywhere: the lamp's own would be missing in shadows.
    spec.visual.headlight.diffuse, spec.visual.headlight.specular = [0, 0, 0], [0, 0, 0]
    sky = spec.add_texture(name="sky", type=mujoco.mjtTexture.mjTEXTURE_SKYBOX, width=4, height=24)
    colour = [0.85, 0.88, 0.91] if fine else [1.0, 1.0, 1.0]
    sky.builtin, sky.rgb1, sky.rgb2 = mujoco.mjtBuiltin.mjBUILTIN_FLAT, colour, colour
    spec.visual.quality.offsamples, spec.visual.quality.shadowsize = (4, 2048) if fine else (0, 0)
    spec.visual.global_.offwidth = spec.visual.global_.offheight = 1  # grows to what is drawn


def _graphics() -> Any:
    """Returns what all cameras of this thread draw with: its first use compiles shaders, which takes 0.1 s."""
    if not hasattr(_of_thread, "graphics"):
        _of_thread.graphics = mujoco.GLContext(1, 1)
        atexit.register(_of_thread.graphics.free)
    return _of_thread.graphics


class Camera:
    """Draws a model. It belongs to the thread that made it.

    Args:
        model: compiled, with what `add_camera` adds.

    Raises:
        MissingDependencyError: there is no EGL.
    """

    def __init__(self, model: Any) -> None:
        if not hasattr(mujoco, "GLContext"):
            raise MissingDependencyError(
                "MuJoCo draws by EGL, which is not installed here: apt install libegl1 libgl1-mesa-dri "
                f"({GL_VARIABLE} is {os.environ[GL_VARIABLE]}); simulator:=pybullet needs no graphics library"
            )
        self._model = model
        self._gl = _graphics()
        self._gl.make_current()
        self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
        self._scene = mujoco.MjvScene(model, maxgeom=GEOMS)
        self._options = mujoco.MjvOption()
        self._view = mujoco.MjvCamera()
        self._view.type = mujoco.mjtCamera.mjCAMERA_FIXED
        self._view.fixedcamid = self._eye = model.camera(EYE).id
        self._lamp = model.light(LAMP).id
        atexit.register(self.close)  # when Python ends, what it needs to do so may be gone before it

    def draw(self, data: Any, view: View, light: Light, width: int, height: int) -> npt.NDArray[np.uint8]:
        """Returns a picture, (height, width, 3) RGB."""
        model = self._model
        way = -np.array(light.direction)
        data.light_xdir[self._lamp] = way / np.linalg.norm(way)
        data.light_xpos[self._lamp] = light.direction
        model.vis.headlight.ambient[:] = light.ambient * np.array(light.rgb)
        model.light_ambient[self._lamp] = 0.0
        model.light_diffuse[self._lamp] = (1.0 - light.ambient) * np.array(light.rgb)
        model.light_specular[self._lamp] = 0.05
        self._look(data, view)
        return self._pixels(width, height)

    def bodies(self, data: Any, view: View, width: int, height: int) -> npt.NDArray[np.int64]:
        """Returns the number of the body that each pixel (height, width) shows; 0, the world, where that is none."""
        self._look(data, view)
        scene = self._scene
        flags = [int(flag) for flag in (mujoco.mjtRndFlag.mjRND_SEGMENT, mujoco.mjtRndFlag.mjRND_IDCOLOR)]
        scene.flags[flags] = 1
        try:
            pixels = self._pixels(width, height).astype(np.int64)
        finally:
            scene.flags[flags] = 0
        owners = np.zeros(GEOMS + 1, np.int64)
        for geom in scene.geoms[: scene.ngeom]:
            if geom.objtype == mujoco.mjtObj.mjOBJ_GEOM and geom.segid >= 0:
                owners[geom.segid + 1] = self._model.geom_bodyid[geom.objid]
        return np.asarray(owners[np.minimum(pixels @ [1, 256, 65536], GEOMS)])

    def _look(self, data: Any, view: View) -> None:
        """Puts the camera where it is to look from, and what it may see into the scene."""
        model = self._model
        eye, at, up = (np.array(each, dtype=np.float64) for each in (view.eye, view.at, view.up))
        data.cam_xpos[self._eye] = eye
        data.cam_xmat[self._eye] = camera_axes(eye, at, up).T.ravel()
        model.cam_fovy[self._eye] = math.degrees(view.height_rad)
        model.vis.map.znear, model.vis.map.zfar = view.near, view.far
        everything = mujoco.mjtCatBit.mjCAT_ALL
        mujoco.mjv_updateScene(model, data, self._options, None, self._view, everything, self._scene)

    def _pixels(self, width: int, height: int) -> npt.NDArray[np.uint8]:
        """Returns the scene as it is drawn, (height, width, 3)."""
        self._take_buffer(width, height)
        frame = mujoco.MjrRect(0, 0, width, height)
        mujoco.mjr_render(frame, self._scene, self._context)
        pixels = np.empty((height, width, 3), np.uint8)
        mujoco.mjr_readPixels(pixels, None, frame, self._context)
        return np.ascontiguousarray(pixels[::-1])

    def _take_buffer(self, width: int, height: int) -> None:
        """Draws into this camera's buffer from here on. It is as large as needed: each picture clears all of it."""
        self._gl.make_current()
        context = self._context
        if width > context.offWidth or height > context.offHeight:
            mujoco.mjr_resizeOffscreen(max(width, context.offWidth), max(height, context.offHeight), context)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, context)

    def close(self) -> None:
        """Frees what the graphics library holds."""
        atexit.unregister(self.close)
        self._gl.make_current()
        self._context.free()
