"""early_reduction_terms: to be described."""

__all__: list[str] = []
