"""From a plain region to a Scop: domains, values of variables, bounds, assembly."""

__all__: list[str] = []
