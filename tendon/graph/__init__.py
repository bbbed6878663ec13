"""The graph as data, and what starts it: `launch/bringup.launch.py` and `tendon run` read the same description."""
