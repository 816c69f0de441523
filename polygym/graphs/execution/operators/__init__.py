"""Loop bodies of the operators that are more than elementwise."""

__all__: list[str] = []
