"""``python -m polygym`` is the ``polygym`` command."""

from polygym.cli.main import main

if __name__ == "__main__":
    main()
