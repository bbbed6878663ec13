"""A rig to calibrate in simulation: cameras with real lenses, boards, a robot whose zeros are off."""
