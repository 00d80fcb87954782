"""The rules by subject, each a list RULES."""
