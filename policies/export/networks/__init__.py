"""The networks of public policies, and our own, as ONNX graphs."""
