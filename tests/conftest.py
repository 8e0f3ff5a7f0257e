"""What all tests share: how hypothesis searches."""

from hypothesis import settings

# A slow machine is no failure, and the same commit gives the same result everywhere.
settings.register_profile("kokoro-export", deadline=None, derandomize=True)
settings.load_profile("kokoro-export")
