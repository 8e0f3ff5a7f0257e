"""The bundle format: read, checked and verified before anything is loaded."""
