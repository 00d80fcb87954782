# SPDX-License-Identifier: GPL-2.0-only
"""Boards: how they are leased, booted, checked, watched and recovered. Boards of labgrid need the
packages of rtscope[farm].
"""
