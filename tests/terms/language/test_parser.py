"""Text to terms and back: names, types and sizes, calls, and errors that say where."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygym.errors import InputError, LimitError, SourceError
from polygym.terms.language.nodes import check_bound, term_facts
from polygym.terms.language.parser import parse_program, parse_programs
from polygym.terms.language.printer import text_of, text_of_program
from polygym.terms.library import FILES, SETS, expressions, programs

ALL = [
    *(term_program for name in SETS for term_program in expressions(name)),
    *(program for name in FILES for program in programs(name)),
]


@pytest.mark.parametrize(
    "program", ALL, ids=lambda program: f"{program.name}-{term_facts(program.body).nodes}"
)
def test_what_is_written_is_read_as_the_same(program: object) -> None:
    from polygym.terms.language.program import TermProgram

    assert isinstance(program, TermProgram)
    again = parse_program(text_of_program(program))
    assert again.body is program.body
    assert again == program
    check_bound(program.body)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("(+ x 1)", "(add x 1.0)"),
        ("(let (y x) (let (y (mul y y)) y))", "(let (t1 x) (let (t2 (mul t1 t1)) t2))"),
        ("(let ((a x) (b a)) (sub a b))", "(let (t1 x) (let (t2 t1) (sub t1 t2)))"),
        ("(let (a x) (b a) (sub a b))", "(let (t1 x) (let (t2 t1) (sub t1 t2)))"),
        ("(let (y x) (add y t1))", "(let (t1_ x) (add t1_ t1))"),
        ("(get$2$3 (tuple 1 True x))", "(select 1 (tuple 1 True x))"),
        ("(select (tuple 1 x) 0)", "(select 0 (tuple 1 x))"),
        ("(sumbuild 3 (lam i (to_float i)))", "(sumbuild 3 (lam (i1 : Integer) (to_float i1)))"),
        ("(apply (lam y (mul y y)) x)", "(apply (lam (i1 : Float) (mul i1 i1)) x)"),
        ("(if (> x (+ 1 2)) 1 x)", "(if (gt x (add 1.0 2.0)) 1.0 x)"),
        ("(- x)", "(neg x)"),
        ("-1e-3 ; a comment", "-0.001"),
        ("(mul 2 (constVec 3 x))", "(mul 2.0 (constVec 3 x))"),
    ],
)
def test_what_else_is_read(text: str, written: str) -> None:
    program = parse_program(text)
    assert text_of(program.body) == written
    assert parse_program(written).body is program.body


def test_names_of_what_is_bound_make_no_difference() -> None:
    program = parse_program("(let (a (add x 1)) (let (b a) (mul a b)))")
    other = parse_program("(let (x (add x 1)) (let (q x) (mul x q)))")
    assert program.body is other.body
    assert program.body is not parse_program("(let (a (add x 1)) (let (b a) (mul b a)))").body


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("(add x", 1, 1, "expected ')' that closes this, found the end"),
        ("(add x))", 1, 8, "expected a word or '(', found ')'"),
        ("(add x y z)", 1, 1, "expected (add a b), found 3 arguments"),
        ("(foo x)", 1, 2, "expected an operator, found foo"),
        ("(add x\n  (mul y))", 2, 3, "expected (mul a b), found one argument"),
        ("", 1, 1, "expected a term or a definition, found nothing"),
        ("()", 1, 1, "expected a term, found ()"),
        ("((x))", 1, 1, "expected an operator after '(', found (x)"),
        ("x y", 1, 3, "expected (def …)"),
        ("(let x 3 4)", 1, 6, "expected (NAME TERM), found x"),
        ("(let (3 x) x)", 1, 7, "expected a name, found 3"),
        ("(let (lam x) x)", 1, 7, "expected a name, found lam"),
        ("(lam y (mul y y))", 1, 6, "expected a type of y"),
        ("(index 0 x)", 1, 1, "expected a vector, found Float"),
        ("(if x 1 2)", 1, 1, "expected Bool, found Float"),
        ("(select 2 (tuple x 1))", 1, 1, "expected a number from 0 to 1, found 2"),
        ("(tuple x)", 1, 1, "expected two parts or more, found 1"),
        (
            "(build 3 (lam (i : Float) i))",
            1,
            15,
            "expected the argument to be Integer, found Float",
        ),
        ("(build 3 x)", 1, 1, "expected a function of an Integer, found Float"),
        ("99999999999999999999", 1, 1, "expected an Integer of 64 bits"),
        ("1e999", 1, 1, "expected a finite number"),
        ("%0", 1, 1, "expected a number or a name, found %0"),
        ("x:Float", 1, 1, "expected a number or a name, found x:Float"),
        ("?a", 1, 1, "expected a number or a name"),
        ("(def f Float ((x : Float)) (add x z))", 1, 35, "expected one of the names x, found z"),
        ("(def f Float ((x : Floa)) x)", 1, 20, "expected Float, Integer, Bool"),
        ("(def f Float ((x : Float) (x : Float)) x)", 1, 27, "expected one parameter x, found two"),
        ("(def f Bool ((x : Float)) x)", 1, 27, "expected the result of f to be Bool, found Float"),
        ("(def f Float (x) x)", 1, 14, "expected (NAME : TYPE), found (x)"),
        ("(def f Float ((x : Float)) x) (def f Float ((x : Float)) x)", 1, 36, "found two"),
        (
            "(def f Float ((v : Vec 3 Float) (w : Vec 4 Float)) (sum (add v w)))",
            1,
            57,
            "expected two of one type, found (Vec 3 Float) and (Vec 4 Float)",
        ),
        (
            "(def f Float ((n : Float) (v : Vec n Float)) n)",
            1,
            14,
            "expected the size n to be an Integer, found Float",
        ),
        (
            "(def f Float ((n : Integer) (x : Float)) (mul n x))",
            1,
            42,
            "found Integer and Float",
        ),
        (
            "(def f Float ((x : Float)) x)\n(def g Float ((x : Float)) (f x x))",
            2,
            28,
            "expected one argument of f, found 2",
        ),
    ],
)
def test_errors_say_where(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse_programs(text, "file.ks")
    assert message in caught.value.message
    assert (caught.value.location.line, caught.value.location.column) == (line, column)
    assert caught.value.location.file == "file.ks"


@given(st.text(alphabet='()xy01.:;?%" \nletamdbuv+-', max_size=60))
def test_whatever_is_written_is_read_or_refused(text: str) -> None:
    try:
        term_programs = parse_programs(text)
    except InputError:
        return
    assert term_programs[0].body is parse_programs(text_of_program(term_programs[0]))[0].body


@given(
    st.lists(
        st.sampled_from(
            [
                "(",
                ")",
                "add",
                "let",
                "lam",
                "x",
                "1",
                "2.5",
                ":",
                "Float",
                "if",
                "True",
                "build",
                "index",
                "tuple",
                "select",
                "def",
            ]
        ),
        max_size=25,
    )
)
def test_words_in_any_order_are_read_or_refused(words: list[str]) -> None:
    try:
        for program in parse_programs(" ".join(words)):
            check_bound(program.body)
            assert parse_program(text_of_program(program)).body is program.body
    except InputError:
        pass


def test_depth_is_limited_by_memory_alone() -> None:
    count = 10_000
    program = parse_program("(add 1 " * count + "x" + ")" * count)
    assert term_facts(program.body).nodes == 2 * count + 1
    assert parse_program(text_of(program.body)).body is program.body
    nested = parse_program(
        "".join(f"(let (y{k} (add x {k})) " for k in range(2000)) + "y7" + ")" * 2000
    )
    assert term_facts(nested.body).free == 0


def test_calls_are_read_as_the_body_with_bindings() -> None:
    text = """
    (def square Float ((x : Float)) (mul x x))
    (def norm Float ((v : Vec n Float)) (sumbuild n (lam i (square (index i v)))))
    (def both Float ((a : Vec k Float) (x : Float)) (add (norm a) (norm (build 3 (lam i x)))))
    """
    square, norm, both = parse_programs(text)
    assert text_of(square.body) == "(mul x x)"
    assert text_of(norm.body) == (
        "(sumbuild n (lam (i1 : Integer) (let (t2 (index i1 v)) (mul t2 t2))))"
    )
    assert "(sumbuild k" in text_of(both.body)  # the size is known by name, or as a number
    assert "(sumbuild 3" in text_of(both.body)
    assert both.sizes == ("k",)


def test_a_size_that_is_not_known_is_asked_of_the_argument() -> None:
    text = """
    (def first Float ((m : Vec n (Vec k Float))) (to_float (mul n k)))
    (def f Float ((v : Vec j Float) (p : Integer)) (first (build (add p 1) (lam i v))))
    (def g Float ((v : Vec j Float) (w : Vec _ Float))
      (first (build 2 (lam i (if (gt j i) v w)))))
    """
    from polygym.terms.language.interpreter import evaluate

    _, f, g = parse_programs(text)
    assert evaluate(f, {"v": [1.0, 2.0], "p": 3}) == 8.0
    assert evaluate(g, {"v": [1.0], "w": [1.0, 2.0, 3.0]}) == 2.0
    assert "(let (t" in text_of(g.body)


def test_an_arm_does_not_lend_its_size_to_the_other() -> None:
    program = parse_program(
        "(def h Integer ((v : Vec n Float) (p : Bool)) (size (if p v (constVec 7 1.0))))"
    )
    from polygym.terms.language.interpreter import evaluate

    assert evaluate(program, {"v": [1.0], "p": False}) == 7


def test_calls_that_grow_without_end_are_refused() -> None:
    lines = ["(def f0 Float ((x : Float)) (add x x))"]
    lines += [
        f"(def f{k} Float ((x : Float)) (add (f{k - 1} x) (f{k - 1} x)))" for k in range(1, 40)
    ]
    with pytest.raises(LimitError, match="nodes of terms"):
        parse_programs("\n".join(lines))


def test_a_definition_that_is_not_there() -> None:
    with pytest.raises(InputError, match="expected one of the definitions gemm, found 'gemv'"):
        parse_program(text_of_program(programs("gemm")[0]), "gemm.ks", "gemv")


def test_a_definition_called_as_bare_terms_are_is_written_with_its_types() -> None:
    program = parse_program("(def it Float ((n : Integer) (v : Vec n Float)) (index n v))")
    assert parse_program(text_of_program(program)) == program
    assert text_of_program(parse_program("(add x y)")) == "(add x y)"
