"""Speedups as text: two decimals, or two significant digits of small ones."""


def ratio_text(value: float | None) -> str:
    """Return a speedup as text, a dash for none.

    >>> ratio_text(1.234), ratio_text(0.00123), ratio_text(None)
    ('1.23x', '0.0012x', '-')
    """
    if value is None:
        return "-"
    return f"{value:.2g}x" if 0 < value < 0.1 else f"{value:.2f}x"
