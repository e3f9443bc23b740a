"""``python -m audit`` and the command ``fairaudit``."""

from audit.cli import main

if __name__ == "__main__":
    main()
