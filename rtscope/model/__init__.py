# SPDX-License-Identifier: GPL-2.0-only
"""The typed records that every other room speaks; no input or output, imports nothing of ours."""
