"""What people see of a run: the terminal, the live view, the HTML page."""
