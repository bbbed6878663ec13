"""Cameras and boards on a robot: where each is, and what the joints' zeros are, by one refinement over all views."""
