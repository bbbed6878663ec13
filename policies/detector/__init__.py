"""Notices that a policy is about to fail, with thresholds that hold a promise."""
