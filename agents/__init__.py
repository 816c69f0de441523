"""Agents: what acts in polygym's environments, from dice to trained networks."""

__all__ = ["networks", "policies"]
