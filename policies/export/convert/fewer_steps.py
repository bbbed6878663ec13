"""A bundle that denoises in fewer steps: the same graphs, asked less often. Of a diffusion it makes DDIM."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tendon.core.errors import ConfigError
from tendon.policies.bundle.bundle import Bundle, write_bundle
from tendon.policies.bundle.places import check_new_folder
from tendon.policies.parity.chunk import CHUNK, NOISE, STEP_NOISE
from tendon.policies.parity.graph import CASES_FILE, read_cases
from tendon.policies.parity.receipt import RECEIPT_FILE, read_receipt, receipt_files


def with_steps(bundle: Bundle, folder: Path, steps: int) -> Bundle:
    """Writes a bundle whose denoiser takes `steps` steps, and returns it read back.

    The receipt keeps what it says of the graphs, which are the same. What it says of whole chunks goes: they came from
    the source's steps. Whether fewer do the task is for `tendon eval` to say.

    Args:
        bundle: with a denoiser.
        folder: where the other goes.
        steps: at least 1; of a diffusion, at most as many as it has.

    Raises:
        ConfigError: the bundle has no denoiser, or not so many steps; or the folder holds a bundle.
    """
    check_new_folder(bundle.folder, folder)
    denoiser = bundle.manifest.denoiser
    if denoiser is None:
        raise ConfigError(f"bundle {bundle.folder} answers a chunk at once: only a denoiser takes steps")
    schedule = denoiser.schedule.in_steps(steps)
    if schedule == denoiser.schedule:
        raise ConfigError(f"bundle {bundle.folder} takes {steps} steps already")
    content = dict(bundle.content)
    if RECEIPT_FILE in content and CASES_FILE in content:
        receipt = read_receipt(content[RECEIPT_FILE])
        rows = tuple(row for row in receipt.rows if row.output != CHUNK)
        whole = {CHUNK, NOISE, STEP_NOISE}
        cases = [
            {name: value for name, value in case.items() if name not in whole}
            for case in read_cases(content[CASES_FILE])
        ]
        content |= receipt_files(replace(receipt, rows=rows), cases)
    record = {"of": bundle.digest, "steps": steps}
    manifest = replace(
        bundle.manifest,
        name=f"{bundle.manifest.name}-{steps}-steps",
        denoiser=replace(denoiser, schedule=schedule),
        training={**bundle.manifest.training, "variant": record},
    )
    return write_bundle(folder, manifest, content)
