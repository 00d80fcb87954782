# SPDX-License-Identifier: GPL-2.0-only
"""Text from targets and files, made safe to print. Imports little: every command loads it."""

import unicodedata


def plain(text: str) -> str:
    """Text from a machine or a file without anything that steers a terminal or turns text around.

    Control and format characters and lone surrogates become U+FFFD, line ends and tabs a blank.
    """
    return "".join(_plain_character(character) for character in text)


def _plain_character(character: str) -> str:
    category = unicodedata.category(character)
    if character in "\n\r\t" or category in ("Zl", "Zp"):
        return " "
    return "\ufffd" if category in ("Cc", "Cf", "Cs") else character
