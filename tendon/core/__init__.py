"""The contracts every other package speaks: types, robot profile, kinematics, clock and errors."""
