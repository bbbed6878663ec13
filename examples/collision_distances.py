"""How near is a robot to itself, to a table and to the border of its workspace? The filter keeps every one of these.

Run: python examples/collision_distances.py
"""

from __future__ import annotations

import tendon
from tendon.control.clearance.model import Clearance
from tendon.robots.environment import load_environment

robot = tendon.load_robot("panda")
clearance = Clearance(robot, load_environment("tabletop"))
distances = clearance.distances(robot.vector("home"))
print(f"{len(clearance.names)} distances at home, the smallest:")
for k in distances.argsort()[:5]:
    print(f"  {clearance.names[k]:40} {distances[k]:.3f} m, must be above {clearance.margin[k]:.3f} m")
