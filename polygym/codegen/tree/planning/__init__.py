"""planning: to be described."""

__all__: list[str] = []
