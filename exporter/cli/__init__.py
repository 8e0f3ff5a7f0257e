"""The commands of ``kokoro-export``: they parse arguments, call one function and print its result."""
