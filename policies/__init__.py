"""Policies: bundle, ONNX runtime, chunk timing, training and export."""
