"""Runs on disk and in a database; import and export of other tools' formats."""
