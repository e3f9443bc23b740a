"""``python -m audit`` and the command ``fairaudit``."""

from audit.cli.app import main

if __name__ == "__main__":
    main()
