"""TVM's runtime: libraries, parameters, devices and threads."""
