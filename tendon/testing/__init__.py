"""Tests of a policy and a robot on the real graph: pytest's fixtures `tendon_graph` and `tendon_episode`, and asserts.

What a test needs is here. Nothing is imported before it is used: pytest loads the plugin in every run.

Examples:
    >>> from tendon.testing import assert_limits, assert_no_stop
    >>> def test_it_reaches_the_ball(tendon_graph):
    ...     graph = tendon_graph(robot="panda", policy="tabletop", scene=100_003)
    ...     graph.arm()
    ...     graph.say(graph.instruction)
    ...     graph.wait_until_done(within_s=12)
    ...     assert_limits(graph)
    ...     assert_no_stop(graph)
"""

TYPE_CHECKING = False  # as that of `typing`, without importing it
if TYPE_CHECKING:
    from tendon.testing.faults import Fault, freeze_cameras, jam, kill, pause
    from tendon.testing.graph import GraphError, GraphUnderTest
    from tendon.testing.latency import assert_latency
    from tendon.testing.limits import assert_limits
    from tendon.testing.stops import assert_no_stop, assert_rest, assert_stop
    from tendon.testing.success import assert_success

__all__ = [
    "GraphUnderTest",
    "GraphError",
    "assert_success",
    "assert_limits",
    "assert_latency",
    "assert_no_stop",
    "assert_stop",
    "assert_rest",
    "Fault",
    "kill",
    "pause",
    "jam",
    "freeze_cameras",
]

_HOMES = {
    "GraphUnderTest": "graph",
    "GraphError": "graph",
    "assert_success": "success",
    "assert_limits": "limits",
    "assert_latency": "latency",
    "assert_no_stop": "stops",
    "assert_stop": "stops",
    "assert_rest": "stops",
    "Fault": "faults",
    "kill": "faults",
    "pause": "faults",
    "jam": "faults",
    "freeze_cameras": "faults",
}
"""In which module of this package each public name is."""


def __getattr__(name: str) -> object:
    """Imports a public name when it is first used (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Lists the public names, imported or not."""
    return sorted({*globals(), *__all__})
