"""Tests of the export of vision-language-action policies: SmolVLA, pi0, pi0.5."""
