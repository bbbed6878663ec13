"""The simulated tabletop as an environment that anybody can step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tendon.core.types import Array
from tendon.sim import require_sim

if TYPE_CHECKING:
    import gymnasium


def make_env(
    family: str | None = None,
    *,
    images: bool = True,
    render_mode: str | None = None,
    simulator: str = "auto",
    robot: str = "panda",
) -> gymnasium.Env[dict[str, Any], Array]:
    """Returns the simulated tabletop as a Gymnasium environment: one language task in a random scene.

    A step takes 0.1 s of simulated time. The safety filter shapes every action at the control rate, as on the robot.

    | space | shape | meaning |
    |---|---|---|
    | action | (8,) float64 | joint targets due at the end of the step: seven arm joints [rad], then a finger [m] |
    | observation `joint_position`, `joint_velocity` | (8,) float64 | as measured [rad, m] and [rad/s, m/s] |
    | observation `image_scene`, `image_wrist` | (128, 128, 3), (96, 96, 3) uint8 | RGB |
    | observation `instruction` | text | the task in words |

    The reward is 1 in the step that completes the task, which ends the episode, and 0 before; after 200 steps it is
    truncated. `info` has `seed`, `family` and `success`, `executed` (where the filter really let the target go) and
    `reasons` (why that is not the action). `reset(seed=...)` takes the seed of a scene: 0-99 999 are for training,
    100 000-199 999 for trying things, 200 000-299 999 for reported results only.

    Args:
        family: of tasks: pick, put_in, put_by, push, stack or drawer; by default the seed decides.
        images: whether observations have images; without, a step costs a third.
        render_mode: "rgb_array" makes `render()` return a picture (384, 384, 3).
        simulator: "pybullet" or "mujoco"; "auto" takes the first that is installed.
        robot: profile of a robot with a gripper. Its joints and cameras are those of the spaces; the table above is a
            Panda's.

    Raises:
        MissingDependencyError: the simulator is not installed.
        ValueError: there is no such family.

    Examples:
        >>> import tendon
        >>> env = tendon.make_env(images=False)
        >>> observation, info = env.reset(seed=100_003)
        >>> observation["instruction"]
        'put the green cube in the yellow bin'
        >>> observation, reward, terminated, truncated, info = env.step(observation["joint_position"])
        >>> reward, terminated, truncated
        (0.0, False, False)
        >>> env.close()
    """
    require_sim()
    import gymnasium

    from tendon.sim.tabletop.env import ENV_ID

    return gymnasium.make(
        ENV_ID, family=family, images=images, render_mode=render_mode, simulator=simulator, robot=robot
    )
