"""The maps that come with Tendon, by kind of device, as the YAML that a user begins his own with."""

from __future__ import annotations

KEYBOARD = """\
# Keys are called as they are typed, or up, down, left, right, space, tab, enter.
hold: [any, space]          # a key that moves something is the deadman itself
axes:                       # of the base: x forward, y left, z up
  x: [w, -s]
  y: [a, -d]
  z: [r, -f]
  roll: [u, -o]
  pitch: [i, -k]
  yaw: [j, -l]
  gripper: [v, -c]          # v opens, c closes
slower: ["-"]
faster: ["+", "="]
frame: base                 # or tool
linear_speed: 0.2           # m/s at full speed; it starts at half
angular_speed: 0.8          # rad/s
gripper_speed: 1.5          # strokes/s
"""

GAMEPAD = """\
# Axes and keys are called as Linux calls them; `evtest` shows those of a device.
hold: [BTN_TL]              # left shoulder
axes:                       # of the base: x forward, y left, z up
  x: [-ABS_Y]
  y: [-ABS_X]
  z: [-ABS_RY]
  yaw: [-ABS_RX]
  pitch: [-ABS_HAT0Y]
  roll: [ABS_HAT0X]
  gripper: [BTN_EAST, -BTN_SOUTH]
slower: [BTN_SELECT]
faster: [BTN_START]
frame: base
linear_speed: 0.2           # m/s at full deflection and full speed; it starts at half
angular_speed: 0.8          # rad/s
gripper_speed: 1.5          # strokes/s
deadzone: 0.1
"""

SPACEMOUSE = """\
# x is to the right of the device, y away from whoever sits before it, z up; button0 is the left one.
hold: [button0]
axes:                       # of the base: x forward, y left, z up
  x: [y]
  y: [-x]
  z: [z]
  roll: [pitch]
  pitch: [-roll]
  yaw: [yaw]
gripper_toggle: [button1]   # opens and closes, while button0 is held
frame: base
linear_speed: 0.2           # m/s at full deflection and full speed; it starts at half
angular_speed: 0.8          # rad/s
deadzone: 0.05
"""

ARM = """\
# The robot's joints follow those of the leader arm from where both are when the deadman is pressed.
hold: [space, BTN_TL, KEY_SPACE]
# joints: {shoulder_pan: -joint_1}   # robot: leader; by default the same names, or the same order
"""

MAPS = {"keyboard": KEYBOARD, "gamepad": GAMEPAD, "spacemouse": SPACEMOUSE, "leader": ARM, "lerobot": ARM}
