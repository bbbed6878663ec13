"""Tests of the suite `reach`."""
