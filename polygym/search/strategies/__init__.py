"""Strategies of a search, behind ask and tell, in a registry by name."""
