"""Which of two ways is better? Both on the same scenes, and the interval of the difference (paired).

Run: python examples/compare_timings.py
"""

from __future__ import annotations

import tendon
from tendon.evaluation.statistics import paired_difference

seeds = (100_002, 100_008)  # a difference that you report needs hundreds
ways = {
    way: tendon.evaluate("tabletop", seeds, timing=way, delay_s=0.2)  # an inference takes 0.2 s of simulated time
    for way in ("overwrite", "trained_prefix")
}
for way, result in ways.items():
    jump = max(episode.peak_jump for episode in result.episodes)
    print(f"{way:15} {result.success}, the target jumps by at most {1e3 * jump:.1f} mrad")
first, second = ([episode.success for episode in result.episodes] for result in ways.values())
print(f"difference of the rates: {paired_difference(first, second)}")
