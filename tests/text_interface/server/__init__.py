"""Tests of the servers: limits, protocols, hostile clients."""
