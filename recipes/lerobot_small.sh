#!/usr/bin/env bash
# Trains a small ACT and a small Diffusion Policy in LeRobot's own trainer on teleoperated demonstrations of one family of
# tasks, opening or closing a drawer, imports both, and counts their successes on scenes that nobody trained on. Neither reads
# an instruction: whether the drawer is to be opened or closed is to be seen. Some 20 minutes of recording, 40 of training a
# policy and 20 of evaluation on two CPU cores. Every step resumes: a cut run goes on when this is started again.
#   make setup-dev setup-lerobot && PATH=$PWD/.venv/bin:$PATH recipes/lerobot_small.sh outputs/lerobot
#   python benchmarks/lerobot_small.py outputs/lerobot
set -euo pipefail
export OMP_NUM_THREADS=1
work=${1:-outputs/lerobot}
robot=$work/robot/profile.yaml

# 1. The Panda with cameras of 64 px.
if [ ! -d "$work/robot" ]; then
  mkdir -p "$work"
  rm -rf "$work/robot.part"
  cp -r robots/panda "$work/robot.part"
  sed -i 's/^    \(width\|height\): .*/    \1: 64/' "$work/robot.part/profile.yaml"
  mv "$work/robot.part" "$work/robot"
fi

# 2. Demonstrations: device, teleoperation node, graph and filter, recorder.
python recipes/teleop_record.py "$work" --episodes 100 --families drawer --robot "$robot"

# 3. A LeRobot dataset. Pictures are in the parquet files: LeRobot decodes no video beside a torch for CPU.
xargs tendon data convert --fps 10 --codec png --out "$work/dataset" < "$work/good"
tendon data check "$work/dataset"

# 4. Training, in LeRobot's own trainer, of its own policy classes. The camera over the table is enough for a drawer.
inputs='{"observation.state": {"type": "STATE", "shape": [8]}, "observation.images.scene": {"type": "VISUAL", "shape": [3, 64, 64]}}'
train() {  # NAME STEPS OPTIONS
  local run=$work/train/$1 steps=$2
  [ ! -d "$run/checkpoints/$(printf %06d "$steps")" ] || return 0
  local last=$run/checkpoints/last/pretrained_model/train_config.json
  if [ -f "$last" ]; then
    python recipes/lerobot_train.py --config_path="$last" --resume=true --steps "$steps"
  else
    rm -rf "$run"
    python recipes/lerobot_train.py --dataset.repo_id tendon/drawer --dataset.root "$work/dataset" --output_dir "$run" \
      --dataset.use_imagenet_stats false --policy.type "$1" --policy.device cpu --policy.push_to_hub false \
      --policy.input_features "$inputs" --policy.pretrained_backbone_weights null --num_workers 1 --seed 0 \
      --steps "$steps" --save_freq 500 --log_freq 50 --eval_freq 0 "${@:3}"
  fi
}
train act 4000 --batch_size 8 --policy.chunk_size 16 --policy.n_action_steps 16 --policy.dim_model 256 \
  --policy.dim_feedforward 1024 --policy.optimizer_lr 1e-4 --policy.optimizer_lr_backbone 1e-4
train diffusion 1200 --batch_size 16 --policy.n_obs_steps 1 --policy.drop_n_last_frames 8 --policy.resize_shape "[48, 48]" \
  --policy.down_dims "[128, 256]" --policy.num_train_timesteps 50 --policy.optimizer_lr 3e-4 --policy.scheduler_warmup_steps 100

# 5. Bundles, compared with LeRobot's own modules over recorded observations. The diffusion in fewer steps is DDIM.
import_() {  # NAME
  [ -d "$work/$1" ] || tendon policy import "$work/train/$1/checkpoints/last/pretrained_model" "$work/$1" \
    --robot "$robot" --camera scene=scene --recorded "$work/dataset" --name "drawer-$1"
}
import_ act
import_ diffusion
for steps in 10 5; do
  [ -d "$work/diffusion-$steps" ] || tendon policy variant "$work/diffusion" "$work/diffusion-$steps" --steps "$steps"
done

# 6. The same 60 scenes of this family for each, for reporting only. The delay is that of the graph in the benchmark.
{
  echo "suite: tabletop"
  echo "cases:"
  for ((seed = 200003; seed < 200363; seed += 6)); do echo "  - {seed: $seed}"; done
} > "$work/suite.yaml"
evaluate() {  # NAME TIMING; one that was cut begins anew
  [ ! -f "$work/$1.json" ] || return 0
  tendon eval run "$work/$1" --robot "$robot" --suite "$work/suite.yaml" --timing "$2" --delay-ms 60 --out "$work/part.json"
  mv "$work/part.json" "$work/$1.json"
}
evaluate act overlap
for policy in diffusion diffusion-10 diffusion-5; do evaluate "$policy" inpainting; done
