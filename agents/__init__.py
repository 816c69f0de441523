"""Agents: what acts in polygym's environments, from random ones to trained networks."""

__all__ = ["networks", "policies"]
