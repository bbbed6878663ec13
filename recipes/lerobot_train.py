r"""LeRobot's own trainer (`lerobot-train`), with its own options, beside our torch and offline.

Its console script does not start beside a torch for CPU: see `tendon.policies.export.lerobot.packages`.

Examples:
  python recipes/lerobot_train.py --dataset.repo_id tendon/mine --dataset.root outputs/datasets/mine \
      --policy.type act --policy.push_to_hub false --output_dir outputs/train/act --steps 3000
"""

from __future__ import annotations

from tendon.policies.export.lerobot.packages import lerobot_module

if __name__ == "__main__":
    lerobot_module("scripts.lerobot_train").main()
