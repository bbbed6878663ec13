"""A bundle's parity, repeated here: its graphs on this machine's engine over the inferences that it keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tendon.core.errors import ConfigError, IntegrityError, MissingDependencyError
from tendon.policies.bundle.bundle import Bundle
from tendon.policies.engines.graph import Graph
from tendon.policies.engines.loading import Engine, load_graph
from tendon.policies.parity.chunk import measure_chunks
from tendon.policies.parity.divergence import first_divergence
from tendon.policies.parity.graph import (
    BOUNDS,
    CASES_FILE,
    Case,
    Row,
    difference,
    measure,
    read_cases,
)
from tendon.policies.parity.receipt import RECEIPT_FILE, Receipt, read_receipt


@dataclass(frozen=True, kw_only=True)
class Repetition:
    """What repeating a bundle's parity gave.

    Attributes:
        engine: what ran the graphs.
        receipt: how it was when the bundle was made.
        rows: how it is here.
        first: of each graph that is out of bound, where that begins, in words.
    """

    engine: Engine
    receipt: Receipt
    rows: tuple[Row, ...]
    first: Mapping[str, str]

    @property
    def passed(self) -> bool:
        """Whether every output is within its bound."""
        return all(row.passed for row in self.rows)


def repeat_parity(bundle: Bundle, engine: Engine | None = None, threads: int = 2) -> Repetition:
    """Runs the graphs of a bundle over its stored inferences.

    Args:
        bundle: from `load_bundle`.
        engine: what runs them; `None` takes the best there is.
        threads: CPU threads of one run.

    Raises:
        ConfigError: the bundle keeps no inferences; or the engine does not start.
        IntegrityError: the inferences are not those of its graphs; or a graph does not load.
        MissingDependencyError: the engine is not installed.
    """
    missing = [name for name in (CASES_FILE, RECEIPT_FILE) if name not in bundle.content]
    if missing:
        raise ConfigError(
            f"bundle {bundle.folder} has no {' and no '.join(missing)}, so there is nothing to compare with: "
            "`tendon policy export`, `import` and `variant` write them"
        )
    manifest = bundle.manifest
    cases, receipt = read_cases(bundle.content[CASES_FILE]), read_receipt(bundle.content[RECEIPT_FILE])
    graphs = load_graphs(bundle, engine, threads)
    model = graphs[manifest.model]
    engine = model.engine
    rows: list[Row] = []
    for name, graph in graphs.items():
        precision = _precision(engine, receipt, name)
        rows.extend(measure(name, graph, cases, precision=precision, bound=BOUNDS[precision]))
    if (denoiser := manifest.denoiser) is not None:
        name, precision = denoiser.graph, _precision(engine, receipt, denoiser.graph)
        pair = (denoiser.schedule, model, name, graphs[name], cases)
        rows.extend(measure_chunks(*pair, precision=precision, bound=BOUNDS[precision]))
    wrong = {row.graph: row for row in rows if not row.passed}
    first = {name: _first(bundle, name, graphs[name], cases, row.bound, threads) for name, row in wrong.items()}
    return Repetition(engine=engine, receipt=receipt, rows=tuple(rows), first=first)


def compare_engines(bundle: Bundle, cases: Sequence[Case], engine: Engine, threads: int = 2) -> tuple[Row, ...]:
    """Compares an engine with `cpu` in place of the source, for a bundle that keeps no inferences.

    Args:
        bundle: from `load_bundle`.
        cases: inputs of inferences, as a `Recorder` keeps them.
        engine: what is compared.
        threads: CPU threads of one run.

    Raises:
        ConfigError: the engine does not start.
        IntegrityError: the cases are not those of its graphs; or a graph does not load.
        MissingDependencyError: the engine is not installed.
    """
    sources = load_graphs(bundle, Engine("cpu"), threads)
    known = [answered(sources, case) for case in cases]
    precision = engine.precision or "fp32"
    graphs = load_graphs(bundle, engine, threads).items()
    return tuple(
        row
        for name, graph in graphs
        for row in measure(name, graph, known, precision=precision, bound=BOUNDS[precision])
    )


def graph_names(bundle: Bundle) -> tuple[str, ...]:
    """Returns the files of a bundle's graphs, in the order in which they run."""
    manifest = bundle.manifest
    return (manifest.model,) if manifest.denoiser is None else (manifest.model, manifest.denoiser.graph)


def load_graphs(bundle: Bundle, engine: Engine | None, threads: int = 2) -> dict[str, Graph]:
    """Returns the graphs of a bundle by file name, in the order in which they run, all on one engine."""
    graphs: dict[str, Graph] = {}
    for name in graph_names(bundle):
        graphs[name] = load_graph(bundle.content, name, engine, threads)
        engine = graphs[name].engine
    return graphs


def answered(graphs: Mapping[str, Graph], case: Case) -> Case:
    """Returns a case with what the graphs answer to it, each reading what those before it answer.

    Raises:
        IntegrityError: the case lacks an input.
    """
    known = dict(case)
    for name, graph in graphs.items():
        missing = sorted(key for key in graph.inputs if key not in known)
        if missing:
            raise IntegrityError(f"the recorded inferences lack {', '.join(missing)} of {name}: record them again")
        known |= graph.run({key: known[key] for key in graph.inputs})
    return known


def _precision(engine: Engine, receipt: Receipt, name: str) -> str:
    """Returns what a graph is computed in: what the engine is told, or what the graph itself was made in."""
    made = next((row.precision for row in receipt.rows if row.graph == name), "fp32")
    precision = engine.precision or made
    if precision not in BOUNDS:
        raise ConfigError(f"{RECEIPT_FILE}: precision of {name} is {precision!r}, known: {', '.join(BOUNDS)}")
    return precision


def _first(bundle: Bundle, name: str, graph: Graph, cases: Sequence[Case], bound: float, threads: int) -> str:
    """Returns where a graph leaves a plain float32 run of itself, over the inference that is off most."""
    known = [output for output in graph.outputs if output in cases[0]]
    feeds = [{key: np.asarray(case[key]) for key in graph.inputs} for case in cases]

    def off(k: int) -> float:
        answer = graph.run(feeds[k])
        return max(difference(cases[k][output], answer[output])[2] for output in known)

    def load(content: Mapping[str, bytes], name: str) -> Graph:
        return load_graph(content, name, graph.engine, threads)

    try:
        found = first_divergence(bundle.content, name, feeds[max(range(len(cases)), key=off)], load, bound)
    except MissingDependencyError as error:
        return str(error)
    return (
        str(found)
        if found
        else "no node by itself: the graph or the inferences were changed, or the engine errs where it fuses nodes"
    )
