# SPDX-License-Identifier: GPL-2.0-only
"""Results in the formats of other programs: JUnit XML, SARIF, and those of --emit."""
