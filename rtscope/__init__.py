"""rtscope: measure, explain and prove how late a Linux machine answers."""

__version__ = "0.1.0"
