"""``python -m steinkit``: the command line."""

from steinkit.cli import main

if __name__ == "__main__":
    main()
