"""`python -m astrac`, and the command: an interrupt has its status from the first import on."""

import sys


def main() -> int:
    """Runs one command; returns the exit status."""
    try:
        from astrac.cli import main as run  # noqa: PLC0415 - an interrupt while it is imported is caught, too

        return run()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
