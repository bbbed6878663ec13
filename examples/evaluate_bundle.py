"""Count the successes of a policy bundle in simulated scenes, with a 95 % Wilson interval.

Run: python examples/evaluate_bundle.py tabletop 2
"""

from __future__ import annotations

import sys

import tendon

bundle = sys.argv[1] if len(sys.argv) > 1 else "tabletop"
count = int(sys.argv[2]) if len(sys.argv) > 2 else 2
result = tendon.evaluate(bundle, seeds=range(100_002, 100_002 + count))
for episode in result.episodes:
    print(f"{episode.instruction}: {'done' if episode.success else 'not done'} after {episode.duration_s:.1f} s")
print(result.success)  # few scenes, wide interval: take hundreds for a number that you report
