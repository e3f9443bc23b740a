"""fairaudit: is a batch scheduler fair, to whom is it not, and why?"""

__version__ = "0.3.0"
