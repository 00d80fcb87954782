"""Start the agent somewhere and stream its lines back."""
