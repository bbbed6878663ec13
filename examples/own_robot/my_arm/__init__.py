"""A robot of one's own, and a policy for it: where their files are."""

from pathlib import Path

ROBOT = Path(__file__).parent / "robot" / "profile.yaml"
POLICY = Path(__file__).parent / "policy"
