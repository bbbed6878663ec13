"""Scenes that a YAML file describes, and hands that a script leads in them: what suites on a table have in common."""
