"""Features and models of time."""
