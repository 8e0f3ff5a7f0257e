"""The data with which a bundle speaks text."""
