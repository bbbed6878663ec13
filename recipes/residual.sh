#!/usr/bin/env bash
# Makes the residual of the tabletop policy for an arm that nobody calibrated (suites/tabletop_hard.yaml), on two CPU cores in
# forty minutes to an hour, and measures it on 300 scenes that nothing saw. Every step resumes: a cut run goes on when this is
# started again. Seeds 0-99 999 train, 200 000 on are measured.
#   make setup-dev setup-train && PATH=$PWD/.venv/bin:$PATH recipes/residual.sh outputs/residual
set -euo pipefail
work=${1:-outputs/residual}
seed=${2:-0}

# 1. The policy acts with offsets, at random at first; a small network learns which of them end in success. It tries a
#    calibrated arm as often, and learns to do nothing there.
tendon residual train bundles/tabletop --out "$work/seed$seed" --seed "$seed" --suite tabletop_hard --keep tabletop \
  --steps 36000 --minutes 150

# 2. The policy alone, the residual, and residuals that know nothing, on the same scenes; then where the arm is calibrated.
python benchmarks/residual_gain.py "$work/seed$seed" --folder "$work/gain" --busy
python benchmarks/residual_gain.py "$work/seed$seed" --folder "$work/gain" --suite tabletop --controls --seeds 200000:200120 --busy

# 3. What it showed goes into the residual, so that it acts in more than every tenth episode at first.
tendon eval compare tabletop "tabletop+$work/seed$seed" --suite tabletop_hard --seeds 100300:100400 --out "$work/shown.json"
tendon residual trust "$work/seed$seed" "$work/shown.json"
