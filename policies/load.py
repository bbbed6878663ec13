"""From a name to a policy that answers: a bundle on this machine, or a server on another one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tendon.policies.bundle.places import find_policy
from tendon.policies.engines.engine import BEST, engine_named
from tendon.robots.profile import RobotProfile, load_profile

if TYPE_CHECKING:
    from tendon.policies.inference.policy import BundlePolicy
    from tendon.policies.remote.policy import RemotePolicy


def load_policy(
    policy: str | Path, robot: RobotProfile | str | Path, *, engine: str = BEST
) -> BundlePolicy | RemotePolicy:
    """Loads a policy for a robot. Everything that can be checked before a motion is checked here.

    Args:
        policy: the folder of a bundle, the name of one that comes with Tendon (`tabletop`), or a YAML file with `kind`
            and `url` of a policy server (docs/how-to/remote.md).
        robot: from `load_robot`, or what that takes.
        engine: what runs the graphs of a bundle, such as "cpu" or "openvino:bf16"; "best" takes the best there is. A
            server has its own.

    Returns:
        A `Policy`: `infer(observation)` answers an `ActionChunk` in the robot's joints. Call it from one thread.
        Close one of a server when it is not needed any more.

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
    profile = robot if isinstance(robot, RobotProfile) else load_profile(robot)
    place = find_policy(policy)
    if place.is_file():
        from tendon.policies.remote import require_remote

        require_remote()
        from tendon.policies.remote.opening import open_policy

        return open_policy(place, profile)
    from tendon.policies.bundle.bundle import load_bundle
    from tendon.policies.inference.policy import BundlePolicy

    return BundlePolicy(load_bundle(place), profile, engine_named(engine))
