"""Which policy a bundle holds: what corrects a policy is bound to its answers, not to what is said of them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

from tendon.policies.detector.file import DETECTOR_FILE, NUMBERS_FILE
from tendon.policies.parity.graph import CASES_FILE
from tendon.policies.parity.receipt import RECEIPT_FILE
from tendon.policies.progress.estimator import ESTIMATOR_FILES
from tendon.policies.spec.manifest import Manifest, manifest_mapping

BOUND_TO_MODEL = (DETECTOR_FILE, NUMBERS_FILE, *ESTIMATOR_FILES, CASES_FILE, RECEIPT_FILE)
"""Files that say something of a model, which answers the same without them."""


def policy_digest(manifest: Manifest) -> str:
    """Returns the SHA-256 of all that a policy's answers come from: the hashes of its files and what is said of them.

    A new failure detector, progress estimator, receipt, record of training or pinned robot leave it as it is, unlike
    `Bundle.digest`.
    """
    answering = {name: digest for name, digest in manifest.files.items() if name not in BOUND_TO_MODEL}
    said = manifest_mapping(replace(manifest, files=answering, training={}, made_for={}))
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
