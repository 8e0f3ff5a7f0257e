"""Makes ``python -m exporter`` the same as ``kokoro-export``."""

from exporter.cli.main import main

if __name__ == "__main__":
    main()
