"""Tests of tendon.demo."""
