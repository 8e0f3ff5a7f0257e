"""Judges speech by what a recogniser understands of it."""
