"""Agents: what acts in polygym's environments, from dice to trained networks."""
