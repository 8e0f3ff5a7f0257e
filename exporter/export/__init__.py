"""The export from options to a published bundle, in the order of its steps."""
