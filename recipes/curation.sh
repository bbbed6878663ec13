#!/usr/bin/env bash
# Does curation matter? Half of a set of demonstrations is bad, and nothing in it says which. `tendon data quality` picks a half;
# training goes on from the shipped policy on that half, on three halves drawn by lot, and on all, for as many steps each.
# All are compared on scenes that nobody trained on. Some 5 minutes of demonstrations, 5 x 3 of training and 48 of evaluation on
# two CPU cores. Every step resumes: a cut run goes on when this is started again.
#   make setup-dev setup-train && PATH=$PWD/.venv/bin:$PATH recipes/curation.sh outputs/curation
#   python benchmarks/curation.py outputs/curation
set -euo pipefail
work=${1:-outputs/curation}

# 1. Demonstrations of the expert, half of them spoiled, without saying so.
python recipes/curation_record.py "$work" --episodes 96

# 2. The half that `tendon data quality` picks, with what the shipped policy says of it, and three by lot: `split` draws the
#    share it keeps.
[ -d "$work/curated" ] || tendon data quality "$work/set" --policy bundles/tabletop --curate 0.5 --keep "$work/curated" \
  --out "$work/quality.html" | tee "$work/quality.txt"
for draw in 0 1 2; do
  [ -d "$work/random-$draw" ] ||
    tendon data split "$work/set" --share 0.5 --seed "$draw" --out "$work/random-$draw" --rest "$work/others-$draw"
done

# 3. Training from the shipped weights, as long on each.
for name in curated random-0 random-1 random-2 set; do
  tendon policy train --data "$work/$name" --from bundles/tabletop --out "$work/run-$name" \
    --steps 160 --batch 24 --learning-rate 2e-3
  [ -d "$work/bundle-$name" ] || tendon policy export "$work/run-$name" "$work/bundle-$name" --name "tabletop-$name"
done

# 4. On scenes of these families that are for reporting only.
{
  echo "suite: tabletop"
  echo "cases:"
  for ((seed = 200004; seed < 200724; seed += 6)); do echo "  - {seed: $seed}"; echo "  - {seed: $((seed + 1))}"; done
} > "$work/suite.yaml"
evaluate() {  # NAME BUNDLE; one that was cut begins anew
  [ ! -f "$work/$1.json" ] || return 0
  tendon eval run "$2" --suite "$work/suite.yaml" --delay-ms 50 --out "$work/part.json"
  mv "$work/part.json" "$work/$1.json"
}
for name in curated random-0 random-1 random-2 set; do evaluate "$name" "$work/bundle-$name"; done
evaluate shipped bundles/tabletop
