"""Builds the native runtime: the sources in `runtime_native` with TVM's runtime as one shared library."""
