"""inner_loops: to be described."""

__all__: list[str] = []
