"""The typed records that every other room speaks; no input or output, imports nothing of ours."""
