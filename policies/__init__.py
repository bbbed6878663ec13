"""Policies: bundle, ONNX runtime, chunk timing, training and export."""

import os
import sys

# A robot calls nobody. onnxruntime from 1.29 on uploads what it runs, unless it is told not to before its import;
# OpenVINO's telemetry package, where it is there, writes to the home folder and calls an analytics server on import.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
