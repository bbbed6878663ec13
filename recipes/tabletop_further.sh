#!/usr/bin/env bash
# Goes on from the tabletop bundle of an earlier commit, on two CPU cores: 50 minutes of scenes, an hour of training, three quarters
# of detector and evaluation, 8 GB of disk. Every step resumes: a cut run goes on when this is started again. Seeds 0-99 999 train.
# bundles/tabletop was made so; the log of its training is beside this file.
# The bundle before is read from the history of this repository, so that a shallow clone is not enough; recipes/tabletop.sh
# makes one from nothing. Residuals and progress estimators are of their policy: recipes/residual.sh and recipes/progress.sh follow.
#   make setup-dev setup-train && PATH=$PWD/.venv/bin:$PATH recipes/tabletop_further.sh outputs/further outputs/bundles/further
set -euo pipefail
work=${1:-outputs/further}
bundle=${2:-outputs/bundles/further}
commit=356bef2

# 1. The bundle before.
before=$work/before/bundles/tabletop
if [ ! -d "$work/before" ]; then
  rm -rf "$work/before.part"
  mkdir -p "$work/before.part"
  git archive "$commit" bundles/tabletop | tar -x -C "$work/before.part"
  mv "$work/before.part" "$work/before"
fi

# 2. It acts, the expert labels what it sees (DAgger): every family, and stacking, of which it does least, once more.
tendon data demos --out "$work/all" --seeds 80000:81440 --learner "$before"
tendon data demos --out "$work/stack" --seeds 90000:93840 --families stack --learner "$before"

# 3. Training from its weights.
tendon policy train --data "$work/all" --data "$work/stack" --from "$before" --out "$work/run" --steps 12000 --learning-rate 5e-4

# 4. The bundle: replanned every 0.4 s as the one before, with a failure detector of its own.
tendon policy export "$work/run" "$bundle" --name tabletop
echo "pace: {replan_rows: 4, continued_rows: 5}" >> "$bundle/bundle.yaml"
tendon policy calibrate-detector "$bundle" --delay-ms 0 --delay-ms 50 --delay-ms 100 --picture "$work/detector.png"

# 5. From when on that detector may stop the robot: a rate of 0.1 % needs thousands of successes.
python benchmarks/detector_stop.py --bundle "$bundle" --episodes 4400 --set 4100 --write --busy \
  --kept "$work/detector-stop.jsonl" --rows "$work/rows"

# 6. How good it is on scenes that only tune.
tendon eval run "$bundle" --seeds 100000:100480 --delay-ms 60
