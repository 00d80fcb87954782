# SPDX-License-Identifier: GPL-2.0-only
"""The command: `rtscope`, or `python -m rtscope`."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C ends it quietly, also while its packages are being loaded."""
    try:
        from rtscope.cli.main import main as command_line  # noqa: PLC0415

        command_line()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
