"""Products of complex numbers as compilers make them, infinities and all.

The product of a + bi and c + di is (ac - bd) + (ad + bc)i. Where both parts of it are NaN, and an
operand or a partial product is infinite, Annex G of the C standard computes it once more: an
infinite operand is replaced by its direction, a NaN beside it by a zero, and the result is
infinity times that product. ``(INFINITY + NAN * I) * 2.0i`` is infinite, not NaN::

    part(x, own, other) = own ? copysign(x is infinite ? 1 : 0, x)
                        : other and x is NaN ? copysign(0, x) : x

``own`` says that the number that x is a part of is infinite, ``other`` that the other one or a
partial product is. gcc and clang call ``__muldc3`` for it, which does the same.
"""

_FUNCTIONS = """
static int polygym_big{s}({t} x) {{ return fabs{s}(x) > {most}; }}
static {t} polygym_part{s}({t} x, int own, int other)
{{ return own ? copysign{s}(polygym_big{s}(x) ? 1.0{s} : 0.0{s}, x)
    : other && x != x ? copysign{s}(0.0{s}, x) : x; }}
static {t} polygym_again_re{s}({t} own, {t} a, {t} b, {t} c, {t} d, int left, int right, int part)
{{ return !(left || right || part) ? own : __builtin_inf{s}() * (
    polygym_part{s}(a, left, right || part) * polygym_part{s}(c, right, left || part)
    - polygym_part{s}(b, left, right || part) * polygym_part{s}(d, right, left || part)); }}
static {t} polygym_again_im{s}({t} own, {t} a, {t} b, {t} c, {t} d, int left, int right, int part)
{{ return !(left || right || part) ? own : __builtin_inf{s}() * (
    polygym_part{s}(a, left, right || part) * polygym_part{s}(d, right, left || part)
    + polygym_part{s}(b, left, right || part) * polygym_part{s}(c, right, left || part)); }}
static int polygym_partial{s}({t} a, {t} b, {t} c, {t} d)
{{ return polygym_big{s}(a * c) || polygym_big{s}(b * d) || polygym_big{s}(a * d)
    || polygym_big{s}(b * c); }}
static {t} polygym_product_re{s}({t} a, {t} b, {t} c, {t} d)
{{ return a * c - b * d == a * c - b * d || a * d + b * c == a * d + b * c ? a * c - b * d
    : polygym_again_re{s}(a * c - b * d, a, b, c, d, polygym_big{s}(a) || polygym_big{s}(b),
        polygym_big{s}(c) || polygym_big{s}(d), polygym_partial{s}(a, b, c, d)); }}
static {t} polygym_product_im{s}({t} a, {t} b, {t} c, {t} d)
{{ return a * c - b * d == a * c - b * d || a * d + b * c == a * d + b * c ? a * d + b * c
    : polygym_again_im{s}(a * d + b * c, a, b, c, d, polygym_big{s}(a) || polygym_big{s}(b),
        polygym_big{s}(c) || polygym_big{s}(d), polygym_partial{s}(a, b, c, d)); }}
"""

_LARGEST = {"double": "1.79769313486231570815e308", "float": "3.40282346638528859812e38f"}


def product_functions(kind: str) -> str:
    """Return the C text of the functions for products of a floating type."""
    return _FUNCTIONS.format(t=kind, s=suffix_of(kind), most=_LARGEST[kind])


def suffix_of(kind: str) -> str:
    """Return the ending of functions of a floating type: "" or "f"."""
    return "f" if kind == "float" else ""


def product_texts(kind: str, left: tuple[str, str], right: tuple[str, str]) -> tuple[str, str]:
    """Return both parts of a product.

    >>> product_texts("float", ("a", "b"), ("c", "d"))[0]
    'polygym_product_ref(a, b, c, d)'
    """
    suffix = suffix_of(kind)
    arguments = ", ".join((*left, *right))
    return (
        f"polygym_product_re{suffix}({arguments})",
        f"polygym_product_im{suffix}({arguments})",
    )
