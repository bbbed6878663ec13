#!/usr/bin/env bash
# Distils the shipped policy and its residual into a policy that needs none (the last step of probe, learn, distill), on two CPU
# cores: 15 minutes of scenes, 3 of demonstrations, 9 of training and 16 of evaluation, the last beside other work. Every step
# resumes: a cut run goes on when this is started again. Seeds 0-99 999 train, 200 000 on are measured.
#   make setup-dev setup-train && PATH=$PWD/.venv/bin:$PATH recipes/residual_distil.sh outputs/distil
#   python benchmarks/distilled.py outputs/distil
# Smaller numbers only try it out: recipes/residual_distil.sh outputs/small 4 10 6
set -euo pipefail
work=${1:-outputs/distil}
scenes=${2:-900}    # to record
steps=${3:-2400}    # of training
measured=${4:-300}  # scenes of the arm whose zeros are off; of the other two fifths as many
first=${5:-233000}  # of them: the shipped residual was measured there too

# 1. What succeeds of the policy and its residual, where zeros are off and where they are right.
python recipes/distil_record.py "$work" --scenes "$scenes"
tendon data check "$work/set"

# 2. Demonstrations such as the policy was made with. A recorded frame has one instruction, so that a network could learn to
#    guess the target from the motion; these have several, and keep it looking.
tendon data demos --out "$work/demos" --seeds "88000:$((88000 + scenes * 4 / 9))"

# 3. Training from the shipped weights, at a rate that took no success away before (2e-3 did), over twice the frames. Pictures
#    keep their light: by little else a single one tells of which arm it is.
tendon policy train --data "$work/set" --data "$work/demos" --from bundles/tabletop --out "$work/run" \
  --steps "$steps" --batch 32 --learning-rate 3e-4 --augment ""
[ -d "$work/bundle" ] || tendon policy export "$work/run" "$work/bundle" --name tabletop-distilled

# 4. The policy as it was and the distilled one, neither with a residual, on scenes that nobody trained on. A detector is of its
#    policy: `tendon policy calibrate-detector` makes one for the bundle when it is to be deployed.
evaluate() {  # NAME BUNDLE SUITE SCENES DELAY; one that was cut begins anew
  [ ! -f "$work/$3-$1.json" ] || return 0
  tendon eval run "$2" --suite "$3" --seeds "$first:$((first + $4))" --delay-ms "$5" --out "$work/part.json"
  mv "$work/part.json" "$work/$3-$1.json"
}
for policy in "distilled $work/bundle" "alone bundles/tabletop"; do
  read -r name bundle <<< "$policy"
  evaluate "$name" "$bundle" tabletop_hard "$measured" 100
  evaluate "$name" "$bundle" tabletop "$((measured * 2 / 5))" 50
done
