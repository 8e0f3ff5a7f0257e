"""The reference: kokoro itself, run in a process of its own."""
