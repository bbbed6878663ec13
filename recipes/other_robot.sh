#!/usr/bin/env bash
# Makes a tabletop policy for another robot with one gripper from that of the Panda, on two CPU cores in about an hour and a half.
# The robot's cameras must be called, and be as large as, those of the bundle. Every step resumes: a cut run goes on when
# this is started again. Seeds 0-99 999 only (training); see docs/how-to/data.md for what each step does.
#   make setup-train && PATH=$PWD/.venv/bin:$PATH recipes/other_robot.sh ur5e_2f85 outputs/ur5e outputs/bundles/ur5e
set -euo pipefail
robot=${1:?name a robot, such as ur5e_2f85}
work=${2:-outputs/$robot}
bundle=${3:-outputs/bundles/$robot}
start=${4:-bundles/tabletop}

# 1. The expert acts with this robot, with noise, and labels; the network goes on from what it knows.
tendon data demos --robot "$robot" --out "$work/expert" --seeds 0:1200
tendon policy train --data "$work/expert" --from "$start" --out "$work/stage1" --steps 2500 --learning-rate 5e-4
tendon policy export "$work/stage1" "$work/bundle1" --robot "$robot"

# 2. The learner acts, the expert labels what it sees (DAgger).
tendon data demos --robot "$robot" --out "$work/dagger" --seeds 40000:40480 --learner "$work/bundle1"
tendon policy train --data "$work/expert" --data "$work/dagger" --from "$work/stage1" --out "$work/stage2" --steps 3000 --learning-rate 5e-4

# 3. The bundle, and how good it is on scenes that only tune.
tendon policy export "$work/stage2" "$bundle" --robot "$robot" --name "tabletop-$robot"
tendon eval run "$bundle" --robot "$robot" --seeds 100000:100060
