"""`python -m server`, and where the command `umigame` begins."""

from server.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
