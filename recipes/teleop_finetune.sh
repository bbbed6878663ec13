#!/usr/bin/env bash
# Finetunes the shipped policy on teleoperated demonstrations after its camera was moved: a scripted person with a gamepad
# records them through the graph, they become a LeRobot dataset, training goes on from the bundle, and both policies are
# compared on scenes that nobody trained on. Some 12 minutes of recording, then half an hour of training and of evaluation
# on two CPU cores. Every step resumes: a cut run goes on when this is started again.
#   make setup-dev setup-train && PATH=$PWD/.venv/bin:$PATH recipes/teleop_finetune.sh outputs/teleop
set -euo pipefail
work=${1:-outputs/teleop}
robot=$work/robot/profile.yaml

# 1. Demonstrations: device, teleoperation node, graph and filter, recorder. Those that failed are left out.
python recipes/teleop_record.py "$work" --episodes "${EPISODES:-48}"

# 2. A LeRobot dataset.
xargs tendon data convert --out "$work/dataset" < "$work/good"
tendon data check "$work/dataset"

# 3. Training from the shipped weights, with the camera where it is now.
tendon policy train --data "$work/dataset" --from bundles/tabletop --robot "$robot" --out "$work/run" \
  --steps "${STEPS:-700}" --batch 32 --learning-rate 3e-4
tendon policy export "$work/run" "$work/bundle" --robot "$robot" --name tabletop-finetuned

# 4. What the new place of the camera alone changes: the same weights, told where it is.
tendon policy export "$work/run/start" "$work/told" --robot "$robot" --name tabletop-told

# 5. Both on the same scenes, which are for reporting only.
for other in told bundle; do
  [ -f "$work/$other.json" ] || tendon eval compare "bundles/tabletop" "$work/$other" --robot "$robot" \
    --seeds "${SEEDS:-200000:200240}" --out "$work/$other.json"
done
[ -f "$work/data.json" ] || tendon eval compare "$work/told" "$work/bundle" --robot "$robot" \
  --seeds "${SEEDS:-200000:200240}" --out "$work/data.json"
