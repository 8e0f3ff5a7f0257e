"""Where a difference between a bundle and PyTorch comes from: ``kokoro-export validate``."""
