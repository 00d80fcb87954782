# SPDX-License-Identifier: GPL-2.0-only
"""Find the commit of a kernel tree after which the lab's figures get worse."""
