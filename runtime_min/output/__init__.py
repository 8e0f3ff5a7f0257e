"""What is written: files, WAV and subtitles."""
