"""Kernels, images and emulated machines: real kernels whose time is counted in instructions."""
