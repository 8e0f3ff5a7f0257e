"""A bundle for the web beside ONNX Runtime Web, in Chromium: ``python -m benchmarks.web bundles/web``."""
