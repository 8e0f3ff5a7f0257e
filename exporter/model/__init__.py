"""What goes into an export: checkpoints, configurations and voice packs, loaded whole or refused."""
