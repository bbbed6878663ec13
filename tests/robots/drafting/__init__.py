"""Tests of tendon.robots.drafting."""
