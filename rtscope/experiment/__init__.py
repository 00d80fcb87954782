"""Plans and the runner: what is asked becomes runs."""
