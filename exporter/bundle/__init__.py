"""The bundle as a directory on disk: written, signed, packed, given more voices."""
