"""independent_tiles: to be described."""

__all__: list[str] = []
