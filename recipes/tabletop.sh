#!/usr/bin/env bash
# Makes a bundle like bundles/tabletop from nothing, on two CPU cores in some two to three hours (estimated from its steps). Every step resumes: a cut
# run goes on when this is started again. Seeds 0-99 999 only (training); see docs/how-to/data.md for what each step does.
#   make setup-train && PATH=$PWD/.venv/bin:$PATH recipes/tabletop.sh outputs/recipe outputs/bundles/tabletop
set -euo pipefail
work=${1:-outputs/recipe}
bundle=${2:-outputs/bundles/tabletop}

# 1. The expert acts, with noise, and labels: about 110 000 frames.
tendon data demos --out "$work/expert" --seeds 0:4000

# 2. Grounding and imitation.
tendon policy train --data "$work/expert" --out "$work/stage1" --steps 8000
tendon policy export "$work/stage1" "$work/bundle1"

# 3. The learner acts, the expert labels what it sees (DAgger), twice.
tendon data demos --out "$work/dagger1" --seeds 40000:44000 --learner "$work/bundle1"
tendon policy train --data "$work/expert" --data "$work/dagger1" --from "$work/stage1" --out "$work/stage2" --steps 8000
tendon policy export "$work/stage2" "$work/bundle2"
tendon data demos --out "$work/dagger2" --seeds 60000:64000 --learner "$work/bundle2"
tendon policy train --data "$work/expert" --data "$work/dagger1" --data "$work/dagger2" --from "$work/stage2" --out "$work/stage3" --steps 8000

# 4. The bundle, and how good it is on scenes that only tune.
tendon policy export "$work/stage3" "$bundle"
tendon eval run "$bundle" --seeds 100000:100060
