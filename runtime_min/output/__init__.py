"""Output files: WAV and subtitles."""
