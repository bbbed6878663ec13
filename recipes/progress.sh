#!/usr/bin/env bash
# Teaches the shipped policy to tell how much of its task is done, from what it and its residual do with success, on two CPU
# cores: 15 minutes of scenes, 3 of training, 12 of measuring on scenes that nobody trained on. Every step resumes. The scenes are
# those of recipes/residual_distil.sh: in the same folder they are recorded once.
#   make setup-dev setup-train && PATH=$PWD/.venv/bin:$PATH recipes/progress.sh outputs/distil
set -euo pipefail
work=${1:-outputs/distil}

# 1. What succeeds, on an arm whose zeros are off and on one whose zeros are right: how far each has come is told by time.
python recipes/distil_record.py "$work" --scenes 900

# 2. A copy of the policy with an estimator. It answers as before, so that residuals and detector stay its own.
if [ ! -d "$work/telling" ]; then
  rm -rf "$work/telling.part"
  cp -r bundles/tabletop "$work/telling.part"
  tendon policy train-progress "$work/telling.part" --data "$work/set"
  mv "$work/telling.part" "$work/telling"
fi

# 3. How well it tells successes from failures and what is stuck from what is not, and how rightly it judges what is done.
python benchmarks/estimates.py "$work/telling" --busy
python benchmarks/judged.py "$work/telling" --busy
