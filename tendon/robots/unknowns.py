"""What a URDF does not say of a robot, and how to find it: a profile lists what nobody has filled in yet."""

from __future__ import annotations

from collections.abc import Mapping

ADVICE: Mapping[str, str] = {
    "joints": "take out of joints, groups and controllers what something else drives, such as legs and wheels",
    "position_limits": (
        "give lower and upper of each continuous joint: how far its cables let it turn, and within one turn where its "
        "driver wraps angles"
    ),
    "velocity": "take the velocity of each joint from the data sheet; start with a tenth of it",
    "acceleration": (
        "take the acceleration of each joint from the data sheet or its driver's joint_limits.yaml; start with a tenth"
    ),
    "jerk": "take the published jerk of each joint, or 100 times its acceleration",
    "tracking_tolerance": (
        "write 0.1 rad, or 0.02 m, to begin with; move the robot slowly in simulation and then for real, and write "
        "twice what `tendon robot tracking` says"
    ),
    "home": (
        "give each joint a home from which the tool reaches its workspace, free of collision: see `tendon robot show`; "
        "then make the collision model again: `tendon robot collisions`"
    ),
    "tool_frame": (
        "name the link that is the tool: z away from the arm, y along the way the fingers close; where the URDF has "
        "none, add a link and a fixed joint to it"
    ),
    "workspace": (
        "measure the box in which the tool may be, in the base frame; `tendon robot check` says how much is reached"
    ),
    "grippers": "describe the gripper: joint, fingers, open, closed, width, frame, effort; leave it out without one",
    "controllers": "write the names and the joint order of the robot's controllers (`ros2 control list_controllers`)",
    "cameras": "list the cameras: name, width, height, rate_hz, frame; `cameras: []` for a policy that sees nothing",
}
"""What a profile may call unknown -> how to find it."""
