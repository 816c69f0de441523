"""Operations on arrays, views, loop nests, and their text."""
