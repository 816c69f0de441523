"""Commands about agents: ``polygym train``, ``evaluate``, ``compare``, ``validate``, ``film``."""
