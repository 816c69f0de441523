"""skewed_copies: to be described."""

__all__: list[str] = []
