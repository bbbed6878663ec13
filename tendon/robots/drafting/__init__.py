"""Drafts the profile of a robot that has none: what URDF and SRDF say, and what is left for a person to find out."""
