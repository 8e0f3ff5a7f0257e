"""Inputs of an export: checkpoint, configuration and voice packs, each loaded whole or refused."""
