"""Operations on arrays, views, loop nests, and their text."""

__all__: list[str] = []
