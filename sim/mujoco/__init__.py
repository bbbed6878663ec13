"""MuJoCo as a simulator. Needs the extra `mujoco`."""
