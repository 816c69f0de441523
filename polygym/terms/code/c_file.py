"""Terms as C files: a function whose sizes are arguments, with a region that schedules apply to.

The file is a program as any other C file is: `polygym optimize`, `run`, `show` and `export` take
it. The function has the Integers first, sizes in the order in which they appear, then the arrays
of the parameters, then those of the result; a number that is a result is an array of one element.
Arrays of its own are allocated. Sizes are 1 or more, Integers that subscripts are made of in range.

    >>> from polygym.terms.language.parser import parse_program
    >>> program = parse_program('''(def scal (Vec n Float) ((a : Float) (v : Vec n Float))
    ...   (build n (lam (i : Integer) (mul a (index i v)))))''')
    >>> print(c_file([program]).splitlines()[4])
    void scal(long n, double a, double v[n], double result[n])
"""

import textwrap
from collections.abc import Mapping, Sequence

from polygym.errors import InputError
from polygym.terms.code.emitter import emit_code
from polygym.terms.language.program import TermProgram

_LONGEST = 88


def c_file(programs: Sequence[TermProgram], sizes: Mapping[str, int] | None = None) -> str:
    """Return the C file of programs, a function each; ``sizes`` are Integers that are numbers.

    Programs that cannot be compiled are left out, and the file says why, if others can.

    Raises:
        InputError: none can be compiled; says what of the last.
    """
    texts, names = [], dict[str, str]()
    failure: InputError | None = None
    for program in programs:
        try:
            code = emit_code(program, sizes or {}, is_symbolic=True)
        except InputError as error:
            texts.append(_comment(f"left out: {error}"))
            failure = error
            continue
        if code.name in names:
            raise InputError(
                f"{program.name}: expected a name in C that no other has, found {code.name} of "
                f"{names[code.name]}"
            )
        names[code.name] = program.name
        takes = ", ".join(f"{name} : {kind}" for name, kind in program.parameters)
        texts.append(
            f"{_comment(f'{program.name}({takes}) -> {program.result}; sizes are 1 or more')}\n"
            f"{code.text}"
        )
    if failure is not None and not names:
        raise failure
    return "\n".join(["#include <math.h>", "#include <stdlib.h>", "", *texts])


def _comment(text: str) -> str:
    lines = textwrap.wrap(text.replace("*/", "* /"), _LONGEST, break_on_hyphens=False)
    return f"/* {(chr(10) + '   ').join(lines)} */"
