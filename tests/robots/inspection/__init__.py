"""Tests of tendon.robots.inspection."""
