"""The store's runs as a table."""
