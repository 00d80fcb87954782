# SPDX-License-Identifier: GPL-2.0-only
"""The one exception whose text is meant for the person at the keyboard."""


class RtscopeError(Exception):
    """A sentence that says what was wrong, where, and what to do; the command line exits with 2."""
