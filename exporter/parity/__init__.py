"""The judge: thresholds, the answers expected of kokoro, and the figures that compare a bundle with them."""
