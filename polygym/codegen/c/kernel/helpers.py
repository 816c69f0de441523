"""Helpers of printed C: small functions that a file has once, for those kernels that call them.

Each name says what the helper does and for which type; its text is made from the name. On x86
vectors with fewer lanes than they have places are loaded and stored under a mask; elsewhere lane by
lane.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_SCALARS = {
    "double": ("double", 64),
    "float": ("float", 32),
    "half": ("_Float16", 16),
    "long": ("long", 64),
    "int": ("int", 32),
    "short": ("short", 16),
    "char": ("signed char", 8),
    "ulong": ("unsigned long", 64),
    "uint": ("unsigned", 32),
    "ushort": ("unsigned short", 16),
    "uchar": ("unsigned char", 8),
}
_MASKS = {64: "long", 32: "int", 16: "short", 8: "char"}
_INLINE = "static inline __attribute__((always_inline, unused))"
_TYPE = r"((?:u?(?:double|float|half|long|int|short|char))(?:_x\d+)?)"
_CALL = re.compile(r"\bpolygym_[a-z_0-9]+")


def helper_names(text: str) -> list[str]:
    """Return the names of the helpers that a text uses, in order, each once."""
    return list(dict.fromkeys(_CALL.findall(text)))


def helper_text(name: str) -> str | None:
    """Return the definition of a helper, None for a name that is none."""
    if name in _FIXED:
        return _FIXED[name]
    for pattern, make in _PATTERNS.items():
        match = re.fullmatch(pattern.replace("TYPE", _TYPE), name)
        if match is not None:
            return make(name, *match.groups())
    return None


def needed_helpers(text: str) -> list[str]:
    """Return the definitions of all helpers that a text needs, those that others need first."""
    done: dict[str, str] = {}

    def add(name: str) -> None:
        if name in done:
            return
        definition = helper_text(name)
        if definition is None:
            return
        for other in helper_names(definition):
            if other != name:
                add(other)
        done[name] = definition

    for name in helper_names(text):
        add(name)
    return list(done.values())


def _split(type_name: str) -> tuple[str, int, int]:
    """Return the scalar's name, its bits and the lanes (1 for a scalar) of a type."""
    base, _, lanes = type_name.partition("_x")
    return base, _SCALARS[base][1], int(lanes or 1)


def _is_vector(type_name: str) -> bool:
    return "_x" in type_name


def _c(type_name: str) -> str:
    return type_name if _is_vector(type_name) else _SCALARS[type_name][0]


def _function(head: str, *lines: str) -> str:
    return "\n".join([f"{_INLINE} {head}", "{", *(f"  {line}" for line in lines), "}"])


def _mask_type(type_name: str) -> str:
    _, bits, lanes = _split(type_name)
    return f"{_MASKS[bits]}_x{lanes}"


def _intrinsic(type_name: str) -> tuple[str, str, str, str] | None:
    """Return prefix, suffix, type and guard of x86's intrinsics for a type, None without any."""
    base, bits, lanes = _split(type_name)
    width = bits * lanes
    if not _is_vector(type_name) or width not in (128, 256, 512):
        return None
    prefix = "_mm" if width == 128 else f"_mm{width}"
    if base == "double":
        return prefix, "pd", f"__m{width}d", "AVX512VL" if width < 512 else "AVX512F"
    if base == "float":
        kind = "__m128" if width == 128 else f"__m{width}"
        return prefix, "ps", kind, "AVX512VL" if width < 512 else "AVX512F"
    own = "AVX512F" if width == 512 else "AVX512VL"
    guard = (
        own if bits >= 32 else ("AVX512BW" if width == 512 else "AVX512BW__) && defined(__AVX512VL")
    )
    return prefix, f"epi{bits}", f"__m{width}i", guard


_FUSED = {
    "fma": ("fmadd", "{f}(a, b, c)", "a * b + c"),
    "fnma": ("fnmadd", "{f}(-a, b, c)", "c - a * b"),
    "fms": ("fmsub", "{f}(a, b, -c)", "a * b - c"),
    "fnms": ("fnmsub", "{f}(-a, b, -c)", "-(a * b) - c"),
}


def _fma(name: str, which: str, type_name: str) -> str:
    """Return a fused operation: as one instruction where the processor has it, else as two."""
    base, _, _ = _split(type_name)
    kind = _c(type_name)
    instruction, scalar, plain = _FUSED[which]
    known = _intrinsic(type_name)
    fast = ["#if defined(__FMA__) || defined(__FP_FAST_FMA)"]
    if known is not None:
        prefix, end, vector, _ = known
        guard = "AVX512F" if prefix == "_mm512" else "FMA"
        call = f"{prefix}_{instruction}_{end}(({vector})a, ({vector})b, ({vector})c)"
        fast = [f"#if defined(__{guard}__)", f"  return ({kind}){call};", "#el" + fast[0][1:]]
    if _is_vector(type_name):
        fast += _halves(name, type_name, 3)
    else:
        fused = scalar.format(f=f"__builtin_fma{'f' if base == 'float' else ''}")
        fast.append(f"  return {fused};")
    head = f"{_INLINE} {kind} {name}({kind} a, {kind} b, {kind} c)"
    return "\n".join([head, "{", *fast, "#else", f"  return {plain};", "#endif", "}"])


def _halves(name: str, type_name: str, count: int) -> list[str]:
    """Return lines that do the same for the halves of vectors, or for both lanes of two."""
    base, bits, lanes = _split(type_name)
    stem = name[: -len(type_name)]
    names = "abc"[:count]
    if lanes * bits <= 128:
        calls = ", ".join(
            f"{stem}{base}({', '.join(f'{n}[{k}]' for n in names)})" for k in range(lanes)
        )
        return [f"  return ({type_name}){{{calls}}};"]
    half = f"{base}_x{lanes // 2}"
    low = ", ".join(map(str, range(lanes // 2)))
    high = ", ".join(map(str, range(lanes // 2, lanes)))

    def part(places: str) -> str:
        parts = ", ".join(f"__builtin_shufflevector({n}, {n}, {places})" for n in names)
        return f"{stem}{half}({parts})"

    every = ", ".join(map(str, range(lanes)))
    return [
        f"  const {half} low = {part(low)};",
        f"  const {half} high = {part(high)};",
        f"  return __builtin_shufflevector(low, high, {every});",
    ]


def _exact_fma(name: str, type_name: str) -> str:
    base, _, lanes = _split(type_name)
    suffix = "f" if base == "float" else ""
    kind = _c(type_name)
    head = f"{kind} {name}({kind} a, {kind} b, {kind} c)"
    if not _is_vector(type_name):
        return _function(head, f"return __builtin_fma{suffix}(a, b, c);")
    calls = ", ".join(f"__builtin_fma{suffix}(a[{k}], b[{k}], c[{k}])" for k in range(lanes))
    return _function(head, f"return ({kind}){{{calls}}};")


_ROUNDING = {"floor": 9, "ceil": 10, "trunc": 11, "rint": 4}


def _math(name: str, function: str, type_name: str) -> str:
    base, _, lanes = _split(type_name)
    suffix = "f" if base == "float" else ""
    kind = _c(type_name)
    arguments = ("a", "b") if function == "copysign" else ("a",)
    head = f"{kind} {name}({', '.join(f'{kind} {a}' for a in arguments)})"
    if not _is_vector(type_name):
        return _function(head, f"return __builtin_{function}{suffix}({', '.join(arguments)});")
    mask = _mask_type(type_name)
    sign = f"({mask})polygym_splat_{type_name}(-0.0{suffix})"
    if function == "fabs":
        return _function(head, f"return ({kind})(({mask})a & ~{sign});")
    if function == "copysign":
        return _function(head, f"return ({kind})((({mask})a & ~{sign}) | (({mask})b & {sign}));")
    known = _intrinsic(type_name)
    fast: list[str] = []
    if known is not None and (function == "sqrt" or function in _ROUNDING):
        prefix, end, vector, _ = known
        wide = prefix == "_mm512"
        guard = "AVX512F" if wide else ("AVX" if prefix == "_mm256" else "SSE4_1")
        if function == "sqrt":
            call = f"{prefix}_sqrt_{end}(({vector})a)"
        elif wide:
            call = f"_mm512_roundscale_{end}(({vector})a, {_ROUNDING[function]})"
        else:
            call = f"{prefix}_round_{end}(({vector})a, {_ROUNDING[function]})"
        fast = [f"#if defined(__{guard}__)", f"  return ({kind}){call};", "#else"]
    calls = ", ".join(f"__builtin_{function}{suffix}(a[{k}])" for k in range(lanes))
    return "\n".join(
        [
            f"{_INLINE} {head}",
            "{",
            *fast,
            f"  return ({kind}){{{calls}}};",
            *(["#endif"] if fast else []),
            "}",
        ]
    )


def _splat(name: str, type_name: str) -> str:
    base, _, lanes = _split(type_name)
    values = ", ".join(["x"] * lanes)
    return _function(
        f"{type_name} {name}({_SCALARS[base][0]} x)", f"return ({type_name}){{{values}}};"
    )


def _keep(name: str, type_name: str) -> str:
    _, bits, lanes = _split(type_name)
    guard, places = {128: ("SSE2", "x"), 256: ("AVX", "x"), 512: ("AVX512F", "v")}.get(
        bits * lanes, ("none", "x")
    )
    return "\n".join(
        [
            "/* A value that stays in its register: gcc would load it again for each use. */",
            f"{_INLINE} {type_name} {name}({type_name} x)",
            "{",
            f"#if defined(__{guard}__) && !defined(__clang__)",
            f'  __asm__("" : "+{places}"(x));',
            "#endif",
            "  return x;",
            "}",
        ]
    )


def _select(name: str, type_name: str) -> str:
    base, bits, lanes = _split(type_name)
    mask, known = _mask_type(type_name), _intrinsic(type_name)
    head = f"{type_name} {name}({mask} mask, {type_name} a, {type_name} b)"
    slow = f"return ({type_name})((mask & ({mask})a) | (~mask & ({mask})b));"
    if known is None or bits * lanes > 256:
        return _function(head, slow)
    prefix, end, vector, _ = known
    end = end if base in ("double", "float") else "epi8"
    guard = "AVX2" if prefix == "_mm256" else "SSE4_1"
    call = f"{prefix}_blendv_{end}(({vector})b, ({vector})a, ({vector})mask)"
    fast = [f"#if defined(__{guard}__)", f"  return ({type_name}){call};", "#else"]
    return "\n".join([f"{_INLINE} {head}", "{", *fast, f"  {slow}", "#endif", "}"])


def _order(name: str, which: str, type_name: str) -> str:
    """Return the lesser or the greater of two vectors, lane by lane, as processors have it."""
    known, mask = _intrinsic(type_name), _mask_type(type_name)
    head = f"{type_name} {name}({type_name} a, {type_name} b)"
    sign, word = ("<", "min") if which == "lesser" else (">", "max")
    slow = f"return polygym_select_{type_name}(({mask})(a {sign} b), a, b);"
    if known is None:
        return _function(head, slow)
    prefix, end, vector, _ = known
    guard = {"_mm": "SSE4_1", "_mm256": "AVX2", "_mm512": "AVX512F"}[prefix]
    call = f"{prefix}_{word}_{end}(({vector})a, ({vector})b)"
    fast = [f"#if defined(__{guard}__)", f"  return ({type_name}){call};", "#else"]
    return "\n".join([f"{_INLINE} {head}", "{", *fast, f"  {slow}", "#endif", "}"])


def _select_first(name: str, type_name: str) -> str:
    mask = _mask_type(type_name)
    head = f"{type_name} {name}(long count, {type_name} a, {type_name} b)"
    return _function(head, f"return polygym_select_{type_name}(polygym_first_{mask}(count), a, b);")


def _first(name: str, type_name: str) -> str:
    base, _, lanes = _split(type_name)
    scalar = _SCALARS[base][0]
    places = ", ".join(map(str, range(lanes)))
    return _function(
        f"{type_name} {name}(long count)",
        f"const {scalar} some = ({scalar})(count < 0 ? 0 : count > {lanes} ? {lanes} : count);",
        f"return ({type_name}){{{places}}} < polygym_splat_{type_name}(some);",
    )


def _mask_bits(lanes: int) -> list[str]:
    """Return lines that make a bit for each of the first lanes."""
    whole = f"0x{(1 << lanes) - 1:x}" + ("ull" if lanes > 32 else "u")
    unit = "1ull" if lanes > 32 else "1u"
    kind = f"__mmask{max(lanes, 8)}"
    return [
        f"  const {kind} lanes = ({kind})(count >= {lanes} ? {whole}"
        f" : count < 1 ? 0 : ({unit} << count) - 1);"
    ]


def _partial(how: str, type_name: str, calls: tuple[str, str]) -> list[str]:
    """Return lines for x86 that access some lanes, up to the line ``#else``; none without any.

    ``calls`` are the text with AVX-512, in which ``lanes`` is a mask of bits, and with AVX2, in
    which it is a vector.
    """
    _, bits, lanes = _split(type_name)
    known, mask = _intrinsic(type_name), _mask_type(type_name)
    if known is None or (how != "first" and bits < 32):
        return []
    if how == "first":
        wide = _mask_bits(lanes)
        narrow = f"  const {mask} lanes = polygym_first_{mask}(count);"
    else:
        wide = [f"  const __mmask{max(lanes, 8)} lanes = polygym_bits_of_{mask}(mask);"]
        narrow = f"  const {mask} lanes = mask;"
    lines = [f"#if defined(__{known[3]}__)", *wide, f"  {calls[0]}"]
    if bits >= 32 and lanes * bits <= 256:
        lines += ["#elif defined(__AVX2__)", narrow, f"  {calls[1]}"]
    return [*lines, "#else"]


def _avx2(type_name: str) -> tuple[str, str, str]:
    """Return prefix, suffix and pointer type of AVX2's partial accesses."""
    base, bits, lanes = _split(type_name)
    prefix = "_mm" if lanes * bits <= 128 else "_mm256"
    if base in ("double", "float"):
        return prefix, "pd" if base == "double" else "ps", base
    return prefix, f"epi{bits}", "int" if bits == 32 else "long long"


def _load(name: str, how: str, type_name: str) -> str:
    base, bits, lanes = _split(type_name)
    mask, size = _mask_type(type_name), bits // 8
    which = "long count" if how == "first" else f"{mask} mask"
    head = f"{type_name} {name}(const void *from, {which})"
    test = "k < count" if how == "first" else "mask[k]"
    fast: list[str] = []
    known = _intrinsic(type_name)
    if known is not None:
        prefix, end, own = _avx2(type_name)
        lanes_kind = "__m128i" if prefix == "_mm" else "__m256i"
        call = f"{prefix}_maskload_{end}((const {own} *)from, ({lanes_kind})lanes)"
        calls = (
            f"return ({type_name}){known[0]}_maskz_loadu_{known[1]}(lanes, from);",
            f"return ({type_name}){call};",
        )
        fast = _partial(how, type_name, calls)
    if how == "first" and lanes * bits > 256:
        half = f"{base}_x{lanes // 2}"
        every = ", ".join(map(str, range(lanes)))
        slow = [
            f"  const {half} low = polygym_load_first_{half}(from, count);",
            f"  const {half} high =",
            f"      polygym_load_first_{half}((const char *)from + {lanes // 2 * size}, "
            f"count - {lanes // 2});",
            f"  return __builtin_shufflevector(low, high, {every});",
        ]
    else:
        slow = [
            "  const char *place = from;",
            f"  {type_name} result = {{0}};",
            f"  for (int k = 0; k < {lanes}; k++)",
            f"    if ({test})",
            f"      __builtin_memcpy((char *)&result + k * {size}, place + k * {size}, {size});",
            "  return result;",
        ]
    return "\n".join([f"{_INLINE} {head}", "{", *fast, *slow, *(["#endif"] if fast else []), "}"])


def _store(name: str, how: str, type_name: str) -> str:
    base, bits, lanes = _split(type_name)
    mask, size = _mask_type(type_name), bits // 8
    which = "long count" if how == "first" else f"{mask} mask"
    head = f"void {name}(void *to, {type_name} value, {which})"
    test = "k < count" if how == "first" else "mask[k]"
    fast: list[str] = []
    known = _intrinsic(type_name)
    if known is not None:
        prefix, end, own = _avx2(type_name)
        kind = "128" if prefix == "_mm" else "256"
        letter = {"pd": "d", "ps": ""}.get(end, "i")
        call = (
            f"{prefix}_maskstore_{end}(({own} *)to, (__m{kind}i)lanes, (__m{kind}{letter})value);"
        )
        calls = (f"{known[0]}_mask_storeu_{known[1]}(to, lanes, ({known[2]})value);", call)
        fast = _partial(how, type_name, calls)
    if how == "first" and lanes * bits > 256:
        half = f"{base}_x{lanes // 2}"
        low = ", ".join(map(str, range(lanes // 2)))
        high = ", ".join(map(str, range(lanes // 2, lanes)))
        slow = [
            f"  polygym_store_first_{half}(to, "
            f"__builtin_shufflevector(value, value, {low}), count);",
            f"  polygym_store_first_{half}((char *)to + {lanes // 2 * size},",
            f"      __builtin_shufflevector(value, value, {high}), count - {lanes // 2});",
        ]
    else:
        slow = [
            "  char *place = to;",
            f"  for (int k = 0; k < {lanes}; k++)",
            f"    if ({test})",
            f"      __builtin_memcpy(place + k * {size}, "
            f"(const char *)&value + k * {size}, {size});",
        ]
    return "\n".join([f"{_INLINE} {head}", "{", *fast, *slow, *(["#endif"] if fast else []), "}"])


def _bits_of(name: str, type_name: str) -> str:
    _, _, lanes = _split(type_name)
    kind = f"__mmask{max(lanes, 8)}"
    known = _intrinsic(type_name)
    assert known is not None
    prefix, end, vector, _ = known
    return "\n".join(
        [
            "#if defined(__AVX512F__)",
            f"{_INLINE} {kind} {name}({type_name} mask)",
            "{",
            f"  return {prefix}_cmplt_{end}_mask(({vector})mask, ({vector}){{0}});",
            "}",
            "#endif",
        ]
    )


def _strided(name: str, how: str, type_name: str) -> str:
    base, _, lanes = _split(type_name)
    scalar = _SCALARS[base][0]
    which = {"": "", "_first": ", long count", "_mask": f", {_mask_type(type_name)} mask"}[how]
    head = f"{type_name} {name}(const {_any(base)} *from, long step{which})"
    if how == "":
        loads = ", ".join("from[0]" if not k else f"from[{k} * step]" for k in range(lanes))
        return _function(head, f"return ({type_name}){{{loads}}};")
    test = "k < count" if how == "_first" else "mask[k]"
    return _function(
        head,
        f"{type_name} result = {{0}};",
        f"for (int k = 0; k < {lanes}; k++)",
        f"  if ({test})",
        f"    result[k] = ({scalar})from[k * step];",
        "return result;",
    )


def _any(base: str) -> str:
    """Return a type of numbers that may be those of an array of another type."""
    return f"polygym_any_{base}"


def _store_strided(name: str, how: str, type_name: str) -> str:
    base, _, lanes = _split(type_name)
    which = {"": "", "_first": ", long count", "_mask": f", {_mask_type(type_name)} mask"}[how]
    head = f"void {name}({_any(base)} *to, long step, {type_name} value{which})"
    if how == "":
        return _function(head, *(f"to[{k} * step] = value[{k}];" for k in range(lanes)))
    test = "k < count" if how == "_first" else "mask[k]"
    return _function(
        head,
        f"for (int k = 0; k < {lanes}; k++)",
        f"  if ({test})",
        "    to[k * step] = value[k];",
    )


def _gather(name: str, how: str, type_name: str) -> str:
    base, _, lanes = _split(type_name)
    which = {"": "", "_first": ", long count", "_mask": f", {_mask_type(type_name)} mask"}[how]
    head = f"{type_name} {name}(const {_any(base)} *from, long_x{lanes} offsets{which})"
    if how == "":
        loads = ", ".join(f"from[offsets[{k}]]" for k in range(lanes))
        return _function(head, f"return ({type_name}){{{loads}}};")
    test = "k < count" if how == "_first" else "mask[k]"
    return _function(
        head,
        f"{type_name} result = {{0}};",
        f"for (int k = 0; k < {lanes}; k++)",
        f"  if ({test})",
        "    result[k] = from[offsets[k]];",
        "return result;",
    )


def _scatter(name: str, how: str, type_name: str) -> str:
    base, _, lanes = _split(type_name)
    which = {"": "", "_first": ", long count", "_mask": f", {_mask_type(type_name)} mask"}[how]
    head = f"void {name}({_any(base)} *to, long_x{lanes} offsets, {type_name} value{which})"
    test = {"": "", "_first": "if (k < count) ", "_mask": "if (mask[k]) "}[how]
    return _function(
        head,
        f"for (int k = 0; k < {lanes}; k++)",
        f"  {test}to[offsets[k]] = value[k];",
    )


def _any_type(name: str, base: str) -> str:
    return f"typedef {_SCALARS[base][0]} {name} __attribute__((may_alias));"


def _any_lane(name: str, type_name: str) -> str:
    _, _, lanes = _split(type_name)
    return _function(
        f"int {name}({type_name} mask)",
        "int result = 0;",
        f"for (int k = 0; k < {lanes}; k++)",
        "  result |= mask[k] != 0;",
        "return result;",
    )


def _stream(name: str, type_name: str) -> str:
    base, bits, lanes = _split(type_name)
    size = bits * lanes // 8
    known = _intrinsic(type_name)
    lines = []
    if known is not None:
        prefix, end, vector, _ = known
        end = end if base in ("double", "float") else ("si" + str(bits * lanes))
        guard = "AVX512F" if prefix == "_mm512" else ("AVX" if prefix == "_mm256" else "SSE2")
        kind = {"double": "double", "float": "float"}.get(base)
        to = f"({kind} *)to" if kind else f"({vector} *)to"
        lines = [
            f"#if defined(__{guard}__)",
            f"  if (((unsigned long)to & {size - 1}) == 0) {{",
            f"    {prefix}_stream_{end}({to}, ({vector})value);",
            "    return;",
            "  }",
            "#endif",
        ]
    return "\n".join(
        [
            f"{_INLINE} void {name}(void *to, {type_name} value)",
            "{",
            *lines,
            f"  *({type_name}_at *)to = value;",
            "}",
        ]
    )


def _bits(name: str, source: str, target: str) -> str:
    return _function(
        f"{_c(target)} {name}({_c(source)} x)",
        f"{_c(target)} result;",
        "__builtin_memcpy(&result, &x, sizeof result);",
        "return result;",
    )


def _saturate(name: str, source: str, target: str) -> str:
    base, bits, lanes = _split(target)
    signed = not base.startswith("u")
    low = f"-0x1p{bits - 1}" if signed else "0.0"
    high = f"0x1p{bits - 1 if signed else bits}"
    if not _is_vector(target):
        scalar = _SCALARS[base][0]
        most = (1 << (bits - signed)) - 1
        least = f"-{most} - 1" if signed else "0"
        if bits == 64:
            least, text = (f"-{most}l - 1" if signed else "0"), f"{most}{'l' if signed else 'ul'}"
        else:
            text = f"{most}{'' if signed else 'u'}"
        return _function(
            f"{scalar} {name}({_c(source)} x)",
            f"return x != x ? 0 : x <= {low} ? {least} : x >= {high} ? {text} : ({scalar})x;",
        )
    source_base = source.partition("_x")[0]
    calls = ", ".join(f"polygym_saturate_{source_base}_to_{base}(x[{k}])" for k in range(lanes))
    own = target.removeprefix("u")
    return _function(f"{own} {name}({source} x)", f"return ({own}){{{calls}}};")


_FIXED: Mapping[str, str] = {
    "polygym_min": _function("long polygym_min(long a, long b)", "return a < b ? a : b;"),
    "polygym_max": _function("long polygym_max(long a, long b)", "return a > b ? a : b;"),
    "polygym_floor": _function("long polygym_floor(long a, long b)", "return a / b - (a % b < 0);"),
    "polygym_remainder": _function(
        "long polygym_remainder(long a, long b)", "return a % b + (a % b < 0 ? b : 0);"
    ),
    "polygym_threads": "\n".join(
        [
            f"{_INLINE} long polygym_threads(void)",
            "{",
            "#ifdef _OPENMP",
            "  return omp_get_max_threads();",
            "#else",
            "  return 1;",
            "#endif",
            "}",
        ]
    ),
    "polygym_fence": "\n".join(
        [
            f"{_INLINE} void polygym_fence(void)",
            "{",
            "#ifdef __SSE2__",
            "  __builtin_ia32_sfence();",
            "#endif",
            "}",
        ]
    ),
    "polygym_publish": _function(
        "void polygym_publish(int *place, int code)",
        "int known = __atomic_load_n(place, __ATOMIC_RELAXED);",
        "while ((unsigned)known < (unsigned)code",
        "       && !__atomic_compare_exchange_n(place, &known, code, 0, __ATOMIC_RELAXED,",
        "                                       __ATOMIC_RELAXED))",
        "  ;",
    ),
    "polygym_allocate": "\n".join(
        [
            "/* Memory in whole lines of the cache; much of it in large pages, where known. */",
            "static inline __attribute__((unused)) void *polygym_allocate(long size)",
            "{",
            "  const long page = 1L << 21;",
            "  const int is_much = size > 32L << 20;",
            "  const size_t whole = is_much ? (size + page - 1) & -page : size;",
            "  void *memory = aligned_alloc(is_much ? page : 64, whole);",
            "#ifdef MADV_HUGEPAGE",
            "  if (is_much && memory)",
            "    madvise(memory, whole, MADV_HUGEPAGE);",
            "#endif",
            "  return memory;",
            "}",
        ]
    ),
    "polygym_reserve": "\n".join(
        [
            "/* Have the C library keep so much memory for the calls that follow. */",
            "static inline __attribute__((unused)) void polygym_reserve(long size)",
            "{",
            "  if (size <= 32L << 20) {",
            "    void *memory = polygym_allocate((size + 63) & -64L);",
            '    __asm__ volatile("" : : "r"(memory) : "memory");',
            "    free(memory);",
            "  }",
            "}",
        ]
    ),
}

_PATTERNS: Mapping[str, Callable[..., str]] = {
    "polygym_(fma|fnma|fms|fnms)_TYPE": _fma,
    "polygym_exact_fma_TYPE": _exact_fma,
    "polygym_(sqrt|fabs|floor|ceil|trunc|round|rint|copysign)_TYPE": _math,
    "polygym_splat_TYPE": _splat,
    "polygym_keep_TYPE": _keep,
    "polygym_select_TYPE": _select,
    "polygym_(lesser|greater)_TYPE": _order,
    "polygym_select_first_TYPE": _select_first,
    "polygym_first_TYPE": _first,
    "polygym_load_(first|mask)_TYPE": _load,
    "polygym_store_(first|mask)_TYPE": _store,
    "polygym_bits_of_TYPE": _bits_of,
    "polygym_strided((?:_first|_mask)?)_TYPE": _strided,
    "polygym_store_strided((?:_first|_mask)?)_TYPE": _store_strided,
    "polygym_gather((?:_first|_mask)?)_TYPE": _gather,
    "polygym_scatter((?:_first|_mask)?)_TYPE": _scatter,
    "polygym_any_(u?(?:double|float|half|long|int|short|char))": _any_type,
    "polygym_any_TYPE": _any_lane,
    "polygym_stream_TYPE": _stream,
    "polygym_bits_TYPE_to_TYPE": _bits,
    "polygym_saturate_TYPE_to_TYPE": _saturate,
}
