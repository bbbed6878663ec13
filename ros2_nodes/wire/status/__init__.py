"""Typed values as key-value pairs of a DiagnosticStatus."""
