"""``kokoro-export validate``: finds the cause of a difference between a bundle and PyTorch."""
