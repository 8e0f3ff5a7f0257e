"""Judges speech by the words that a recogniser understands."""
