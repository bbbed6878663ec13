"""What packaging tests run in each kind of installation."""

# Run outside the checkout: where the package came from, and whether its data files came along.
LOAD = """
import tendon, tendon.policies, tendon.sim, tendon.ros2_nodes, tendon.calibration
from tendon.core.paths import share_folder
from tendon.robots.profile import load_profile
print(tendon.__file__)
print(load_profile("panda").urdf)
print(*sorted(p.parent.name for p in (share_folder() / "bundles").glob("*/bundle.yaml")))
"""
