"""The keys of `tendon policy serve`: openpi's words where it has one, and our own, all optional, behind `tendon/`."""

from __future__ import annotations

VERSION = 1
"""Of all of these; a client of another one is refused by itself."""

JOINT_POSITION, JOINT_VELOCITY = "observation/joint_position", "observation/joint_velocity"
IMAGE_PREFIX = "observation/images/"
"""Then the name of the camera."""
PROMPT, ACTIONS = "prompt", "actions"

STAMP = "tendon/stamp_ns"
"""The observation's stamp on the client's clock; the server only gives it back."""
PREFIX, FROZEN = "tendon/prefix", "tendon/frozen"
"""Rows (k, n) of the running plan from the first row of the answer on, and how many of them are not to change."""
JPEG = "tendon/jpeg"
"""In place of an image: a map of this key to the bytes."""

HISTORY = "tendon/history"
"""What was seen before, for a policy that is told: a list, the oldest first, of maps of joints and images."""
STEERING = "tendon/steering"
"""Name to value of what the policy is steered by, as `steering` of its manifest; what is left out has its default."""

META_VERSION, META_MANIFEST = "tendon/version", "tendon/manifest"
META_PREFIX_ROWS, META_OVERLAP_ROWS = "tendon/prefix_rows", "tendon/overlap_rows"
META_ROBOT = "tendon/robot"
"""Digests of `SHARED_PARTS` of the server's profile: it turns answers into joints with them."""
SHARED_PARTS = ("joints", "limits", "kinematics")

LONGEST_PROMPT = 2000
