"""Gives the shipped bundle the receipt of its parity with the network in torch; the graph stays as it is.

Run: `python recipes/tabletop_receipt.py bundles/tabletop` (needs torch; a minute on two cores). A signature is removed.

The training run is not kept, so the network gets its weights back from the graph, where they have their names
(`recover_run`; the camera's viewpoints come from the simulator). What is shown is that the graph computes what the
network's Python computes, over noise, smooth pictures and what episodes on validation scenes fed it. What cannot be
shown is that the weights are those that were trained. A new bundle has no such gap: `tendon policy export` compares.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from tendon.evaluation.recorded_inputs import record_inputs
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.export.bundle import load_run, random_cases
from tendon.policies.export.checked_bundle import write_checked_bundle
from tendon.policies.export.exported import Exported
from tendon.policies.export.networks.one_graph import policy_graph
from tendon.policies.export.source_graph import IN_TORCH, verify, with_answers
from tendon.policies.training.recover import recover_run
from tendon.robots.profile import load_profile
from tendon.sim.viewpoints import labelled_viewpoints

SCENES = range(100_000, 100_006)
"""Validation scenes, one of each family; reported ones are 200 000 and up."""
EACH = 2
"""Inferences of an episode: its first, without a running plan, and its last."""
SOURCE = "SmallVla (policies/training/model.py) with the weights that policy.onnx holds"


def main() -> None:
    """Compares, writes, and repeats what was written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path)
    options = parser.parse_args()

    bundle = load_bundle(options.bundle)
    profile = load_profile(bundle.manifest.robot)
    with tempfile.TemporaryDirectory() as scratch:
        recover_run(bundle, Path(scratch), labelled_viewpoints(profile))
        model, record = load_run(Path(scratch))
    graph = policy_graph(model, record["statistics"], bundle.manifest.action)
    recorded = [case for _, cases in record_inputs(bundle.folder, profile.name, SCENES, EACH) for case in cases]
    cases = tuple(
        with_answers(graph, case) for case in (*random_cases(model.shape, bundle.manifest.cameras), *recorded)
    )
    made = Exported(files=bundle.content, cases=cases, parity=verify(graph, bundle.content, cases, float64=False))
    source = f"{SOURCE}, {IN_TORCH}"
    written, repetition = write_checked_bundle(bundle.folder, bundle.manifest, made, source, profile, print)
    for row in repetition.rows:
        print(f"{row.output}: relative {row.relative:.2g} of {row.bound:g} allowed, {row.inferences} inferences")
    print(f"{options.bundle}: digest {written.digest[:12]}")


if __name__ == "__main__":
    main()
