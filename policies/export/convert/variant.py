"""A bundle in another precision: a bundle of its own, with its own hashes and its own parity with the source.

Float32 inputs and outputs stay, so that a variant runs wherever the bundle does. For bfloat16 there is no variant: the
engines that have it (`openvino:bf16`, `tensorrt:bf16`) make it of the bundle itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from tendon.core.errors import ConfigError, MismatchError
from tendon.policies.bundle.bundle import Bundle, write_bundle
from tendon.policies.bundle.places import check_new_folder
from tendon.policies.engines.external_data import listed_locations
from tendon.policies.engines.loading import Engine, Graph, load_graph
from tendon.policies.export.convert.half import to_half
from tendon.policies.export.convert.quantize import Quantizer, quantize_static
from tendon.policies.parity.bundle import answered, graph_names, load_graphs
from tendon.policies.parity.chunk import measure_chunks
from tendon.policies.parity.graph import (
    BOUNDS,
    CASES_FILE,
    Case,
    Row,
    measure,
    read_cases,
)
from tendon.policies.parity.receipt import RECEIPT_FILE, Receipt, receipt_files, receipt_here
from tendon.policies.progress.estimator import ESTIMATOR_FILES

PRECISIONS = ("fp16", "int8", "int8-dynamic")
HELD_OUT = 4
"""One of so many recorded inferences is not calibrated on, but compared with."""

ENGINE = Engine("cpu")


@dataclass(frozen=True, kw_only=True)
class Variant:
    """What was made.

    Attributes:
        bundle: read back.
        receipt: how far it is from the source.
        kept: by graph, products that int8 left in float32, since its bound would not hold otherwise.
    """

    bundle: Bundle
    receipt: Receipt
    kept: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def make_variant(
    bundle: Bundle,
    folder: Path,
    precision: str,
    recorded: Sequence[Case] = (),
    tell: Callable[[str], None] = lambda _: None,
) -> Variant:
    """Writes a bundle in another precision, once it is shown to be near enough to its source.

    Args:
        bundle: in float32.
        folder: where the variant goes.
        precision: one of `PRECISIONS`.
        recorded: inputs of inferences as they happened, see `parity`: int8 needs them. A quarter of them is not
            calibrated on, but compared with; so are the inferences that the bundle keeps.
        tell: is told what is being done.

    Raises:
        ConfigError: there is no such precision, the folder holds a bundle, or there is nothing to calibrate on or to
            compare with.
        IntegrityError: the inferences are not those of the bundle's graphs.
        MismatchError: an output is off by more than the precision's bound.
    """
    if precision not in PRECISIONS:
        raise ConfigError(f"precision is {precision!r}, known: {', '.join(PRECISIONS)}")
    check_new_folder(bundle.folder, folder)
    if precision == "int8" and not recorded:
        raise ConfigError(
            "int8 needs recorded inputs, since it takes the ranges of activations from them and other inputs than the "
            f"policy will see give wrong actions: `tendon data record-inputs {bundle.folder} FILE` records some"
        )
    tell("float32 answers of the recorded inferences")
    sources = load_graphs(bundle, ENGINE)
    known = [answered(sources, case) for case in recorded]
    kept_back, calibration = known[::HELD_OUT], [case for k, case in enumerate(known) if k % HELD_OUT]
    stored = read_cases(bundle.content[CASES_FILE]) if CASES_FILE in bundle.content else ()
    checks = (*stored, *kept_back)
    if not checks or (precision == "int8" and not calibration):
        raise ConfigError(
            f"bundle {bundle.folder} keeps no inferences and too few were recorded ({len(recorded)}), so there is "
            f"nothing to compare with: `tendon data record-inputs {bundle.folder} FILE` records some"
        )

    files: dict[str, bytes] = {}
    rows: list[Row] = []
    kept: dict[str, tuple[str, ...]] = {}
    for name, source in sources.items():
        made, kept[name] = _converted(bundle, name, source, precision, calibration, checks, tell)
        tell(f"{name}: parity over {len(checks)} inferences")
        rows.extend(_measured(made, name, precision, checks))
        files |= made
    rows.extend(_chunks(bundle, files, precision, checks))
    receipt = receipt_here(_compared_with(bundle, len(stored), len(kept_back)), rows)
    wrong = max((row for row in rows if not row.passed), key=lambda row: row.relative / row.bound, default=None)
    if wrong is not None:
        raise MismatchError(
            f"{precision} of {wrong.graph} is too far from float32: output {wrong.output} by {wrong.relative:.2g} "
            f"(max abs {wrong.max_abs:.2g}, cosine {wrong.cosine:.6f}), allowed {wrong.bound:g}: "
            "take another precision, or a float32 bundle on openvino:bf16 or tensorrt:fp16"
        )
    return Variant(bundle=_written(bundle, folder, precision, files, checks, receipt, kept), receipt=receipt, kept=kept)


def _converted(
    bundle: Bundle,
    name: str,
    source: Graph,
    precision: str,
    calibration: Sequence[Case],
    checks: Sequence[Case],
    tell: Callable[[str], None],
) -> tuple[dict[str, bytes], tuple[str, ...]]:
    if precision == "fp16":
        tell(f"{name}: to float16")
        return to_half(bundle.content, name), ()
    if precision == "int8-dynamic":
        tell(f"{name}: to int8")
        return Quantizer(bundle.content, name).dynamic(), ()

    def judge(files: Mapping[str, bytes]) -> float:
        return max(row.relative / row.bound for row in _measured(files, name, precision, checks))

    feeds = [{key: np.asarray(case[key]) for key in source.inputs} for case in calibration]
    return quantize_static(bundle.content, name, feeds, judge, tell)


def _compared_with(bundle: Bundle, stored: int, recorded: int) -> str:
    """Returns what the receipt says of the source."""
    parts = [
        *([f"the answers of its source to {stored} inferences"] if stored else []),
        *([f"its own on {ENGINE} to {recorded} recorded ones"] if recorded else []),
    ]
    return f"bundle {bundle.manifest.name} in float32, digest {bundle.digest[:12]}: {', and '.join(parts)}"


def _measured(files: Mapping[str, bytes], name: str, precision: str, checks: Sequence[Case]) -> tuple[Row, ...]:
    kind = precision.partition("-")[0]
    return measure(name, load_graph(files, name, ENGINE), checks, precision=kind, bound=BOUNDS[kind])


def _chunks(bundle: Bundle, files: Mapping[str, bytes], precision: str, checks: Sequence[Case]) -> tuple[Row, ...]:
    """Returns how far whole chunks are off, of a bundle with a denoiser whose inferences hold some."""
    denoiser = bundle.manifest.denoiser
    if denoiser is None:
        return ()
    kind = precision.partition("-")[0]
    context, denoise = (load_graph(files, name, ENGINE) for name in graph_names(bundle))
    schedule, bound = denoiser.schedule, BOUNDS[kind]
    return measure_chunks(schedule, context, denoiser.graph, denoise, checks, precision=kind, bound=bound)


def _written(
    bundle: Bundle,
    folder: Path,
    precision: str,
    files: Mapping[str, bytes],
    checks: Sequence[Case],
    receipt: Receipt,
    kept: Mapping[str, Sequence[str]],
) -> Bundle:
    replaced = {name: place for name in graph_names(bundle) for place in listed_locations(bundle.content, name)}
    dropped = {*graph_names(bundle), *replaced.values(), CASES_FILE, RECEIPT_FILE, *ESTIMATOR_FILES}
    content = {name: data for name, data in bundle.content.items() if name not in dropped}
    record: dict[str, Any] = {"of": bundle.digest, "precision": precision}
    if any(kept.values()):
        record["float32_products"] = {name: list(products) for name, products in kept.items() if products}
    manifest = replace(
        bundle.manifest,
        name=f"{bundle.manifest.name}-{precision}",
        training={**bundle.manifest.training, "variant": record},
    )
    return write_bundle(folder, manifest, {**content, **files, **receipt_files(receipt, checks)})
