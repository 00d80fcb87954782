# SPDX-License-Identifier: GPL-2.0-only
"""What becomes of an experiment's results while and after it is measured."""
