"""The simulated robot: PyBullet world, language tasks, scripted expert, cameras and Gymnasium env."""
