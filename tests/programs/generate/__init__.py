"""Random programs."""
