# SPDX-License-Identifier: GPL-2.0-only
"""Start the agent somewhere and stream its lines back."""
