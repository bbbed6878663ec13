#!/usr/bin/env bash
# Trains a policy for two arms with a gripper each on the suite bimanual, from nothing, on two CPU cores in about two hours.
# Every step resumes: a cut run goes on when this is started again. Seeds 0-99 999 only (training); see
# docs/how-to/data.md for what each step does.
#   make setup-train && PATH=$PWD/.venv/bin:$PATH recipes/two_hands.sh outputs/two_hands outputs/bundles/two_hands
set -euo pipefail
work=${1:-outputs/two_hands}
bundle=${2:-outputs/bundles/two_hands}
robot=${3:-panda_pair}

# 1. The expert acts, with noise, and labels.
tendon data demos --robot "$robot" --suite bimanual --out "$work/expert" --seeds 0:760
tendon policy train --data "$work/expert" --out "$work/stage1" --steps 4000
tendon policy export "$work/stage1" "$work/bundle1" --robot "$robot"

# 2. The learner acts, the expert labels what it sees (DAgger).
tendon data demos --robot "$robot" --suite bimanual --out "$work/dagger" --seeds 40000:40160 --learner "$work/bundle1"
tendon policy train --data "$work/expert" --data "$work/dagger" --from "$work/stage1" --out "$work/stage2" --steps 2500 --learning-rate 5e-4

# 3. The bundle, and how good it is on scenes that only tune.
tendon policy export "$work/stage2" "$bundle" --robot "$robot" --name bimanual
tendon eval run "$bundle" --robot "$robot" --suite bimanual --seeds 100000:100060
