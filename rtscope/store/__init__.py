# SPDX-License-Identifier: GPL-2.0-only
"""Runs on disk and in a database; import and export of other tools' formats."""
