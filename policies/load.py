"""From a name to a policy that answers: a bundle on this machine, or a server on another one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tendon.policies.bundle.places import find_policy
from tendon.policies.engines.engine import BEST, engine_named
from tendon.robots.profile import RobotProfile, load_profile

if TYPE_CHECKING:
    from tendon.policies.inference.load_place import LoadedPolicy


def load_policy(policy: str | Path, robot: RobotProfile | str | Path, *, engine: str = BEST) -> LoadedPolicy:
    """Loads a policy for a robot. Everything that can be checked before a motion is checked here.

    Args:
        policy: the folder of a bundle, the name of one that comes with Tendon (`tabletop`), or a YAML file with `kind`
            and `url` of a policy server (docs/how-to/remote.md).
        robot: from `load_robot`, or what that takes.
        engine: what runs the graphs of a bundle, such as "cpu" or "openvino:bf16"; "best" takes the best there is. A
            server has its own.

    Returns:
        A `Policy`: `infer(observation)` answers an `ActionChunk` in the robot's joints. Call it from one thread, and
        `close()` it when it is not needed any more.

    Raises:
        ConfigError: there is no such policy, file or engine, or something in the file is wrong.
        IntegrityError: a file of the bundle is not what its hash says.
        MismatchError: policy and robot do not fit each other.
        MissingDependencyError: the engine, or what speaks to servers, is not installed.
        RemoteError: the server is out of reach.

    Examples:
        >>> import tendon
        >>> policy = tendon.load_policy("tabletop", "panda")
        >>> [camera.name for camera in policy.cameras]
        ['scene', 'wrist']
        >>> tendon.load_policy("tabletop", "ur5e")
        Traceback (most recent call last):
            ...
        tendon.core.errors.MismatchError: bundle tabletop: robot is panda, expected ur5e: ...
    """
    from tendon.policies.inference.load_place import load_place

    profile = robot if isinstance(robot, RobotProfile) else load_profile(robot)
    return load_place(find_policy(policy), profile, engine_named(engine)).policy
