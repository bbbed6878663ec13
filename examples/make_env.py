"""The simulated tabletop as a Gymnasium environment, driven by the scripted expert until its task is done.

Run: python examples/make_env.py
"""

from __future__ import annotations

import tendon
from tendon.sim.tabletop.env import TabletopEnv
from tendon.sim.tabletop.expert.pilot import ExpertPilot

env = tendon.make_env(images=False)
print(f"action: {env.action_space.shape}, joint targets due in 0.1 s [rad, m]")
observation, info = env.reset(seed=100_003)
print(f"scene {info['seed']}: {observation['instruction']}")

pilot = ExpertPilot(tendon.load_robot("panda"))  # put your own policy here
tabletop = env.unwrapped
assert isinstance(tabletop, TabletopEnv)  # the expert looks into the simulator
action, steps, terminated, truncated = observation["joint_position"], 0, False, False
while not (terminated or truncated):
    action = pilot.row(tabletop.backend.world, action)
    observation, reward, terminated, truncated, info = env.step(action)
    steps += 1
print(f"success {info['success']} after {steps} steps of 0.1 s")
env.close()
