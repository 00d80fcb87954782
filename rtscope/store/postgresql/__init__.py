# SPDX-License-Identifier: GPL-2.0-only
"""A store of a fleet, in a PostgreSQL database. Needs the packages of rtscope[fleet]."""
