"""Tests of tendon.commands."""
