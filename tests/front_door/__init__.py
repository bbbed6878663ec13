"""Tests of what `import tendon` offers."""
