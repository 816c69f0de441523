"""Agents: policies, training and evaluation on top of polygym."""
