# SPDX-License-Identifier: GPL-2.0-only
"""Plans measured on the boards of a farm, all boards at once."""
