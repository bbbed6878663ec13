"""What runs an ONNX graph: onnxruntime or OpenVINO, their caches, and how fast they are."""
