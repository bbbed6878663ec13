"""Tendon deploys vision-language-action policies on robots with ROS 2.

What a program needs is here. A name is imported when it is first used, so `import tendon` itself costs nothing, and
only what is used needs its extra (`sim`, `remote`).

Examples:
    >>> import tendon
    >>> robot = tendon.load_robot("panda")
    >>> policy = tendon.load_policy("tabletop", robot)
    >>> policy.step_ns
    100000000
"""

TYPE_CHECKING = False  # as that of `typing`, without importing it
if TYPE_CHECKING:
    from tendon.core.errors import (
        CalibrationError,
        ConfigError,
        InstructionError,
        IntegrityError,
        InvalidDataError,
        KinematicsError,
        MismatchError,
        MissingDependencyError,
        NoAnswerError,
        NoWayError,
        RemoteError,
        StoppedError,
        TendonError,
        WorkerError,
    )
    from tendon.core.pace import Pace
    from tendon.core.protocols import Backend, Policy, Stage
    from tendon.core.types import ActionChunk, Command, Image, Observation, Trajectory
    from tendon.evaluation.evaluate import Evaluation, evaluate
    from tendon.policies.load import load_policy
    from tendon.robots.profile import RobotProfile
    from tendon.robots.profile import load_profile as load_robot
    from tendon.sim.tabletop.make import make_env

__version__ = "0.1.0"

__all__ = [
    "load_robot",
    "load_policy",
    "evaluate",
    "make_env",
    "Observation",
    "Image",
    "ActionChunk",
    "Trajectory",
    "Command",
    "RobotProfile",
    "Evaluation",
    "Policy",
    "Pace",
    "Stage",
    "Backend",
    "TendonError",
    "ConfigError",
    "MismatchError",
    "InvalidDataError",
    "IntegrityError",
    "InstructionError",
    "KinematicsError",
    "CalibrationError",
    "NoAnswerError",
    "NoWayError",
    "StoppedError",
    "RemoteError",
    "MissingDependencyError",
    "WorkerError",
]

_HOMES = {
    "load_robot": "tendon.robots.profile:load_profile",
    "load_policy": "tendon.policies.load:load_policy",
    "evaluate": "tendon.evaluation.evaluate:evaluate",
    "make_env": "tendon.sim.tabletop.make:make_env",
    "Observation": "tendon.core.types:Observation",
    "Image": "tendon.core.types:Image",
    "ActionChunk": "tendon.core.types:ActionChunk",
    "Trajectory": "tendon.core.types:Trajectory",
    "Command": "tendon.core.types:Command",
    "RobotProfile": "tendon.robots.profile:RobotProfile",
    "Evaluation": "tendon.evaluation.evaluate:Evaluation",
    "Policy": "tendon.core.protocols:Policy",
    "Pace": "tendon.core.pace:Pace",
    "Stage": "tendon.core.protocols:Stage",
    "Backend": "tendon.core.protocols:Backend",
    "TendonError": "tendon.core.errors:TendonError",
    "ConfigError": "tendon.core.errors:ConfigError",
    "MismatchError": "tendon.core.errors:MismatchError",
    "InvalidDataError": "tendon.core.errors:InvalidDataError",
    "IntegrityError": "tendon.core.errors:IntegrityError",
    "InstructionError": "tendon.core.errors:InstructionError",
    "KinematicsError": "tendon.core.errors:KinematicsError",
    "CalibrationError": "tendon.core.errors:CalibrationError",
    "NoAnswerError": "tendon.core.errors:NoAnswerError",
    "NoWayError": "tendon.core.errors:NoWayError",
    "StoppedError": "tendon.core.errors:StoppedError",
    "RemoteError": "tendon.core.errors:RemoteError",
    "MissingDependencyError": "tendon.core.errors:MissingDependencyError",
    "WorkerError": "tendon.core.errors:WorkerError",
}
"""Where each public name is defined. Tests keep this, `__all__` and the imports for type checkers the same."""


def __getattr__(name: str) -> object:
    """Imports a public name when it is first used (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module, _, attribute = _HOMES[name].partition(":")
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Lists the public names, imported or not."""
    return sorted({*globals(), *__all__})
