"""Figures, confidence, comparison and verdicts: pure functions over the model."""
