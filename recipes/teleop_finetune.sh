#!/usr/bin/env bash
# Finetunes the shipped policy on teleoperated demonstrations of two families of tasks after its camera was moved: a scripted
# person with a gamepad records them through the graph, they become a LeRobot dataset, training goes on from the bundle, and
# both policies are compared on scenes that nobody trained on. Some 6 minutes of recording, 10 of training and 10 of evaluation
# on two CPU cores. Every step resumes: a cut run goes on when this is started again.
#   make setup-dev setup-train && PATH=$PWD/.venv/bin:$PATH recipes/teleop_finetune.sh outputs/teleop
#   python benchmarks/finetuned.py outputs/teleop
set -euo pipefail
work=${1:-outputs/teleop}
robot=$work/robot/profile.yaml

# 1. Demonstrations: device, teleoperation node, graph and filter, recorder. Those that failed are left out.
python recipes/teleop_record.py "$work" --episodes 48

# 2. A LeRobot dataset.
xargs tendon data convert --jobs 2 --out "$work/dataset" < "$work/good"
tendon data check "$work/dataset"

# 3. Training from the shipped weights, with the camera where it is now.
tendon policy train --data "$work/dataset" --from bundles/tabletop --robot "$robot" --out "$work/run" \
  --steps 650 --batch 32 --learning-rate 3e-4
tendon policy export "$work/run" "$work/bundle" --robot "$robot" --name tabletop-finetuned

# 4. What the new place of the camera alone changes: the same weights, told where it is.
tendon policy export "$work/run/start" "$work/told" --robot "$robot" --name tabletop-told

# 5. In pairs, on scenes of these families that are for reporting only.
{
  echo "suite: tabletop"
  echo "cases:"
  for ((seed = 200004; seed < 200364; seed += 6)); do echo "  - {seed: $seed}"; echo "  - {seed: $((seed + 1))}"; done
} > "$work/suite.yaml"
compare() {  # FILE A B; one that was cut begins anew
  [ ! -f "$work/$1.json" ] || return 0
  tendon eval compare "$2" "$3" --robot "$robot" --suite "$work/suite.yaml" --delay-ms 50 --out "$work/part.json"
  mv "$work/part.json" "$work/$1.json"
}
compare bundle bundles/tabletop "$work/bundle"
compare data "$work/told" "$work/bundle"
