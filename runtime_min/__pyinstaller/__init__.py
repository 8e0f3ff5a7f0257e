"""Tells PyInstaller, which asks the entry point `pyinstaller40`, what an app with a bundle needs."""

import os


def get_hook_dirs() -> list[str]:
    """Returns the directory with the hook."""
    return [os.path.dirname(__file__)]
