"""The command `kokoro-bundle`: inspects, verifies and unpacks a bundle before it speaks."""
