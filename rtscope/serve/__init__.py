# SPDX-License-Identifier: GPL-2.0-only
"""The web pages of a store."""
