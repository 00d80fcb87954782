# SPDX-License-Identifier: GPL-2.0-only
"""What ran between the deadline and the answer, as one timeline, from either trace source."""
