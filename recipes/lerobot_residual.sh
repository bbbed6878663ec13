#!/usr/bin/env bash
# Trains a residual on the ACT that recipes/lerobot_small.sh trained in LeRobot and imported, for an arm whose zeros are
# off, and counts what it gains on 180 drawers that nothing saw. WORK is the folder of that recipe, with its `act`.
# On two idle CPU cores some 10 minutes to find how far the zeros may be off, at most 60 of training, 15 of evaluation.
# Every step resumes: a cut run goes on when this is started again. Seeds 0-99 999 train, 100 000 on choose the suite,
# 200 000 on are measured.
#   make setup-dev setup-train && PATH=$PWD/.venv/bin:$PATH recipes/lerobot_residual.sh outputs/lerobot
set -euo pipefail
export OMP_NUM_THREADS=1
work=${1:-outputs/lerobot}
robot=$work/robot/profile.yaml
suite=$work/drawer_arm.yaml

# 1. How far the arm's zeros are off: as far as the policy alone is still shown to do 35 % of 60 scenes, which takes 29.
#    Its draw is that of suites/tabletop_hard.yaml, the delay that of lerobot_small.sh; all else is as it was recorded.
for strength in 2.5 2 1.5 1 0.5 0; do
  tried=$work/drawer_arm-$strength
  if [ -f "$suite" ] || [ -f "$tried.json" ]; then continue; fi
  rm -f "$work/part.json"
  {
    echo "suite: tabletop"
    echo "families: [drawer]"
    echo "perturbations: {joint_zero: $strength}"
    echo "arm: 2"
    echo "delay_s: 0.06"
  } > "$tried.yaml"
  shown=0
  tendon eval run "$work/act" --robot "$robot" --suite "$tried.yaml" --seeds 100000:100060 --at-least 0.35 \
    --out "$work/part.json" || shown=$?
  if [ "$shown" -gt 1 ]; then exit "$shown"; fi  # cut or refused: what it has written is not of all scenes
  if [ "$shown" -eq 0 ]; then cp "$tried.yaml" "$suite"; fi
  mv "$work/part.json" "$tried.json"
done
if [ ! -f "$suite" ]; then
  echo "the policy alone does too few drawers for a residual to learn from: train it for longer" >&2
  exit 1
fi

# 2. A small network learns which offsets of the tool end in success. It sees the arm, the plan and what ACT's encoder
#    makes of the picture.
tendon residual train "$work/act" --out "$work/residual/seed0" --robot "$robot" --suite "$suite" --steps 24000 \
  --prefill 6000 --minutes 60

# 3. The policy alone, with offsets at random, and with the residual, on the same scenes.
python benchmarks/residual_gain.py "$work/residual/seed0" --claim residual/imported --bundle "$work/act" \
  --robot "$robot" --suite "$suite" --seeds 200000:200180 --controls "random offsets" --folder "$work/gain" --busy
