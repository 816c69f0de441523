"""Names of C++ and of its library that mean something in C: types, functions, words.

The library's functions of numbers are overloaded: ``std::sqrt`` of a float is a float, which
``tgmath.h`` does in C. ``std::min`` returns its first argument where none is less::

    std::min(a, b)    →    ((b) < (a) ? (b) : (a))
    std::max(a, b)    →    ((a) < (b) ? (b) : (a))
"""

C_HEADERS = {
    f"c{name}": f"{name}.h"
    for name in "assert ctype errno fenv float inttypes limits locale math setjmp signal stdarg "
    "stddef stdint stdio stdlib string time uchar wchar wctype".split()
}
"""Headers of C++ that are headers of C."""

CPP_HEADERS = frozenset(
    "algorithm array atomic bitset chrono complex deque exception execution filesystem fstream "
    "functional future initializer_list iomanip ios iosfwd iostream istream iterator limits list "
    "map memory mutex new numbers numeric optional ostream queue random ratio regex set sstream "
    "stack stdexcept streambuf string string_view thread tuple type_traits typeinfo "
    "unordered_map unordered_set utility valarray variant vector".split()
)
"""Headers of C++ whose macros do not matter."""

SCALAR_WORDS = frozenset("bool char short int long float double signed unsigned _Bool".split())
"""Words that types of numbers are made of."""

QUALIFIERS = frozenset({"const", "volatile", "static", "constexpr", "register", "thread_local"})

LIBRARY_TYPES = frozenset(
    {"size_t", "ptrdiff_t", "FILE", "clock_t", "time_t"}
    | {
        f"{sign}int{kind}{bits}_t"
        for sign in ("", "u")
        for kind in ("", "_least", "_fast")
        for bits in (8, 16, 32, 64)
    }
    | {"intptr_t", "uintptr_t", "intmax_t", "uintmax_t"}
)
"""Types that C has under the same names."""

MATH_FUNCTIONS = frozenset(
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 "
    "fabs fdim floor fma fmax fmin fmod hypot ldexp lgamma log log10 log1p log2 logb lrint lround "
    "llrint llround nearbyint nextafter pow remainder rint round scalbln scalbn sin sinh sqrt tan "
    "tanh tgamma trunc ilogb".split()
)
"""Functions of ``<cmath>`` with the meaning that they have in ``math.h``, for each type."""

OTHER_FUNCTIONS = frozenset(
    "malloc calloc free realloc memcpy memset memmove printf fprintf sprintf snprintf exit abort "
    "rand srand clock time strlen strcmp isnan isinf isfinite signbit atoi atof puts".split()
)
"""Functions of C that ``std::`` may stand before."""

OPERATORS = {"and": "&&", "or": "||", "not": "!", "bitand": "&", "bitor": "|", "xor": "^"} | {
    "compl": "~", "and_eq": "&=", "or_eq": "|=", "xor_eq": "^=", "not_eq": "!=",
}  # fmt: skip
"""Words that are operators."""

CASTS = frozenset({"static_cast", "reinterpret_cast", "const_cast"})

REFUSED_WORDS = {
    "dynamic_cast": "dynamic_cast is not supported",
    "typeid": "typeid is not supported",
    "throw": "exceptions are not supported",
    "try": "exceptions are not supported",
    "catch": "exceptions are not supported",
    "operator": "operators of the program's own are not supported",
    "this": "member functions are not supported",
    "decltype": "decltype is not supported",
    "co_await": "coroutines are not supported",
    "co_yield": "coroutines are not supported",
    "co_return": "coroutines are not supported",
    "typename": "templates are not supported",
    "template": "templates are not supported",
}
"""Words in a function for which it is not read."""

TEMPLATE_HINT = "write the function for one type, or call it from a function that has the loops"
CLASS_HINT = "put the loop into a function outside of the class, and give it what it uses"
RANGE_HINT = "write 'for (int i = 0; i < n; i++)'"
AUTO_HINT = "write the type"

_LIMITS = {
    "double": ("DBL_MAX", "DBL_MIN", "DBL_EPSILON"),
    "float": ("FLT_MAX", "FLT_MIN", "FLT_EPSILON"),
}
_VALUES = {
    "DBL_MAX": "1.79769313486231570815e308",
    "DBL_MIN": "2.22507385850720138309e-308",
    "DBL_EPSILON": "2.2204460492503130808e-16",
    "FLT_MAX": "3.40282346638528859812e38f",
    "FLT_MIN": "1.17549435082228750797e-38f",
    "FLT_EPSILON": "1.1920928955078125e-7f",
}


def numeric_limit(type_text: str, member: str) -> str | None:
    """Return a member of ``std::numeric_limits`` in C; None for one that is not known.

    >>> numeric_limit("double", "lowest"), numeric_limit("int", "max")
    ('(-1.79769313486231570815e308)', '2147483647')
    """
    if type_text in _LIMITS:
        most, least, epsilon = (_VALUES[name] for name in _LIMITS[type_text])
        suffix = "f" if type_text == "float" else ""
        return {
            "max": most,
            "min": least,
            "lowest": f"(-{most})",
            "epsilon": epsilon,
            "infinity": f"(__builtin_inf{suffix}())",
        }.get(member)
    if type_text == "int":
        return {"max": "2147483647", "min": "(-2147483647 - 1)", "lowest": "(-2147483647 - 1)"}.get(
            member
        )
    return None
