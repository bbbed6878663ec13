"""The error tree: one root; each error also is the builtin that fits, and says name, value, bound and fix."""


class TendonError(Exception):
    """Root of every error Tendon raises on purpose. The message says what to change."""


class ConfigError(TendonError, ValueError):
    """A profile, bundle or option is missing, unknown, of the wrong type or out of bounds."""


class MismatchError(ConfigError):
    """Two parts that must agree (bundle, profile, message, scene) do not. Raised before motion."""


class InvalidDataError(TendonError, ValueError):
    """An observation, chunk or command has a wrong shape, a wrong order or non-finite values."""


class IntegrityError(TendonError, ValueError):
    """A file's hash, type or path is not what its manifest says. Raised before the file is parsed."""


class InstructionError(TendonError, ValueError):
    """An instruction holds words the policy was not trained on."""


class KinematicsError(TendonError, ArithmeticError):
    """Inverse kinematics found no solution within its tolerance."""


class CalibrationError(TendonError, ValueError):
    """Views do not tell what is to be calibrated, or contradict one another. The message says what to do."""


class NoWayError(TendonError, RuntimeError):
    """No motion was found that keeps every clearance. The message says what is in the way."""


class StoppedError(TendonError, RuntimeError):
    """The request needs a mode that the controller is not in."""


class NoAnswerError(TendonError, TimeoutError):
    """A service of another node did not answer in time."""


class RemoteError(TendonError, ConnectionError):
    """A policy server is out of reach or too slow, or answered with an error."""


class MissingDependencyError(TendonError, ImportError):
    """An optional dependency is not installed. The message names the extra that brings it."""


class WorkerError(TendonError, RuntimeError):
    """A process that was started for a part of the work ended before it was done."""
