"""Tokens of C++ as tokens of C: what each construct becomes, what is refused, and where."""

import pytest

from polygym.errors import InputError, SourceError
from polygym.frontend.c import parse_text
from polygym.frontend.c.discovery.region_search import find_in_text
from polygym.frontend.c.source.cpp.literals import plain_literals
from polygym.frontend.c.source.preprocessor import preprocess


def as_c(text: str) -> str:
    """Return the tokens of a text in C, with a space between two."""
    source, _ = preprocess(text, "a.cpp")
    return " ".join(token.text for token in source.tokens)


BODIES = {
    "double x{0}; int k{}; int m(3);": "double x = ( 0 ) ; int k = ( 0 ) ; int m = ( 3 ) ;",
    "double a[3]{}; double b[2] = {};": "double a [ 3 ] = { 0 } ; double b [ 2 ] = { 0 } ;",
    "auto i = 0u; auto f = -1.f;": "unsigned i = 0u ; float f = - 1 . f ;",
    "auto n = 5000000000; const auto k = 2L;": "long n = 5000000000 ; const long k = 2L ;",
    "a[0] = int(x) + float{y};": "a [ 0 ] = ( ( int ) ( x ) ) + ( ( float ) ( y ) ) ;",
    "p = static_cast<const float *>(q);": "p = ( ( const float * ) ( q ) ) ;",
    "double &r = a[3]; r = r + 1;": "double * r = & ( a [ 3 ] ) ; ( * r ) = ( * r ) + 1 ;",
    "s.r = r; double &r = a[0]; s.r = r;": (
        "s . r = r ; double * r = & ( a [ 0 ] ) ; s . r = ( * r ) ;"
    ),
    "bool b = true; p = nullptr;": "_Bool b = 1 ; p = ( ( void * ) 0 ) ;",
    "if (not a and b) c();": "if ( ! a && b ) c ( ) ;",
    "x = std::min(y, z);": "x = ( ( z ) < ( y ) ? ( z ) : ( y ) ) ;",
    "x = std::max<double>(y, 1);": (
        "x = ( ( ( double ) ( y ) ) < ( ( double ) ( 1 ) ) ? "
        "( ( double ) ( 1 ) ) : ( ( double ) ( y ) ) ) ;"
    ),
    "x = ::sqrt(std::fabs(y));": "x = sqrt ( fabs ( y ) ) ;",
    "double *q = new double[n];": (
        "double * q = ( ( double * ) malloc ( sizeof ( double ) * ( n ) ) ) ;"
    ),
    "delete[] q;": "( free ( q ) ) ;",
    "std::cout << x << std::endl;": "std__cout << x << std__endl ;",
    "std::vector<int> v(n);": (
        "int * v = std__vector ( ) ; unsigned long v__size = std__size ( ) ;"
    ),
    "std::array<int, 3> t{{1, 2, 3}};": "int t [ 3 ] = { 1 , 2 , 3 } ;",
    'std::string name("x"); Grid g(3, 4);': "std__string name ; Grid g ;",
    "x = std::numeric_limits<float>::max();": "x = 3.40282346638528859812e38f ;",
    "int f();": "int f ( ) ;",
    "double (*f)(double) = g;": "double ( * f ) ( double ) = g ;",
    "static constexpr int K = 3;": "static const int K = 3 ;",
    "x = 1'000 * y[i];": "x = 1000 * y [ i ] ;",
}


@pytest.mark.parametrize("body", BODIES)
def test_statements_in_c(body: str) -> None:
    assert as_c(f"void g() {{ {body} }}") == f"void g ( void ) {{ {BODIES[body]} }}"


FILES = {
    'namespace a { extern "C" { int x; } }': "int x ;",
    "using real = double; using namespace std; real x;": "typedef double real ; real x ;",
    "const int N = 4; const double *p;": "static const int N = 4 ; const double * p ;",
    "inline constexpr double h{2};": "static const double h = ( 2 ) ;",
    "struct P { int n; bool on() { return n; } };": ("typedef struct P P ; struct P { int n ; } ;"),
    "enum class E { A, B = 3 }; int x = int(E::B);": (
        "enum E { E__A , E__B = 3 } ; typedef enum E E ; int x = ( ( int ) ( E__B ) ) ;"
    ),
    "auto f(int n = 3) noexcept -> double { return n; }": "double f ( int n ) { return n ; }",
    "static void g(int &s); void f(int *a) { g(a[0]); }": (
        "static void g ( int * s ) ; void f ( int * a ) { g ( ( & ( a [ 0 ] ) ) ) ; }"
    ),
    "int g(const int &s) { return s; }": "int g ( const int s ) { return s ; }",
    "void g(float (&a)[4][2]) {}": "void g ( float a [ 4 ] [ 2 ] ) { }",
    "void g(); void g(int) { g(); }": "void g ( int ) { g__overloaded ( ) ; }",
}


@pytest.mark.parametrize("text", FILES)
def test_declarations_in_c(text: str) -> None:
    assert as_c(text) == FILES[text]


# What is refused in the function of a marked region: text, message, column in its line.
REFUSED = (
    ("void f(int n, double *a) { REGION }", "a[i] = [&](int k) { return k; }(i);", "a function"),
    ("void f(int n, double *a) { REGION }", "try { a[i] = 0; } catch (...) { }", "exceptions"),
    ("void f(int n, double *a) { REGION }", "auto x = a[i] < 2; a[i] = x + x;", "x is of type"),
    ("void f(int n, short *a) { REGION }", "auto x = a[i] > 2 ? a[i] : a[0]; a[i] = x;", "x is of"),
    ("#include <algorithm>\nvoid f(int n, short *a) { REGION }",
     "auto x = std::max(a[i], a[0]); a[i] = x;", "x is of"),
    ("void f(int n, double &a) { REGION }", "{ int b, a = i; b += a; }", "a is declared"),
    ("void f(int n, double *a, int k) { REGION }", "a[i] = sizeof(k < 3);", "sizeof a truth"),
    ("#include <vector>\nvoid f(int n, std::vector<bool> &a) { REGION }", "a[i] = 1;", "a is of"),
    ("#include <vector>\nvoid f(int n, std::vector<int> a) { REGION }", "a[i] = 1;", "a copy of"),
    ("#include <vector>\nvoid f(int n, std::vector<int> &a) { REGION }", "a.push_back(i);", ""),
    ("#include <vector>\nvoid f(int n, std::vector<int> &a) { REGION }", "a.at(i) = 1;", ""),
    ("int &g(int *a) { return a[0]; }\nvoid f(int n, int *a) { REGION }", "g(a) = i;", ""),
    ("struct V { double x; V operator+(V o); };\nvoid f(int n, V *a, V *b) { REGION }",
     "a[i] = a[i] + b[i];", "V has operators"),
    ("struct V { double x = 1; };\nvoid f(int n, double *a) { REGION }", "V v; a[i] = v.x;",
     "V has"),
    ("namespace p { int k; }\nnamespace q { int k; }\nvoid f(int n, int *a) { REGION }",
     "a[i] = p::k;", "k is declared in several namespaces"),
    ("template <class T> T g(T x) { return x; }\nvoid f(int n, int *a) { REGION }",
     "a[i] = g(i);", "g is a template"),
    ("namespace p { int g(int); }\nint g(int x) { return x; }\nvoid f(int n, int *a) { REGION }",
     "a[i] = p::g(i);", "g has several definitions"),
    ("namespace p { struct P { int x; }; }\n"
     "struct P { int y; };\nvoid f(int n, p::P *a) { REGION }",
     "a[i].x = 0;", "P is declared in several namespaces"),
    ("namespace p { using T = int; }\nusing T = long;\nvoid f(int n, p::T *a) { REGION }",
     "a[i] = 0;", "T is declared in several namespaces"),
    ("namespace p { enum E { K = 1 }; }\nenum F { K = 2 };\nvoid f(int n, int *a) { REGION }",
     "a[i] = p::K;", "K is declared in several namespaces"),
    ("int k;\nvoid f(int n, int *a, int k) { REGION }", "a[i] = ::k;", "k has a scope"),
    ("namespace p { int k; }\nvoid f(int n, int *a) { REGION }", "int k = i; a[i] = p::k + k;",
     "k has a scope"),
    ("#include <algorithm>\nint g(int &x) { return ++x; }\nvoid f(int n, int *a) { REGION }",
     "a[i] = std::min(g(a[i]), 3);", "may change something"),
    ("#include <algorithm>\nint h() { static int k; return k++; } int g() { return h(); }\n"
     "void f(int n, int *a) { REGION }", "a[i] = std::max(3, g());", "may change something"),
    ("void f(int n, float *a) { REGION }", "a[i] = exp(a[i]);", "exp of float is a function of"),
    ("#include <algorithm>\nvoid f(int n, int *a) { REGION }", 
     "a[i] = std::max(a[i]++, 3);", "an as"),
)  # fmt: skip


@pytest.mark.parametrize(("frame", "body", "message"), REFUSED)
def test_refusals_have_places(frame: str, body: str, message: str) -> None:
    loop = f"\n#pragma scop\n  for (int i = 0; i < n; i++) {{ {body} }}\n#pragma endscop\n"
    with pytest.raises(SourceError) as caught:
        parse_text(frame.replace("REGION", loop), file="a.cpp")
    assert message in caught.value.message
    assert caught.value.location.file == "a.cpp"
    assert caught.value.location.line <= 5


def test_a_call_without_effects_stands_in_std_min() -> None:
    """A function that sets its own scalars alone may be called twice."""
    named = "static int k; void f(double *a) { k++; a[0] = std::min(a[1], 8.f); }"
    assert as_c(named).endswith("( 8 . f ) : ( a [ 1 ] ) ) ; }")
    head = "#include <algorithm>\ndouble g(double x) { double s = x; s *= 2; return s; }\n"
    assert as_c(head + "void f(double *a) { a[0] = std::min(g(a[0]), a[1]); }").endswith(
        "a [ 0 ] = ( ( a [ 1 ] ) < ( g ( a [ 0 ] ) ) ? ( a [ 1 ] ) : ( g ( a [ 0 ] ) ) ) ; }"
    )


def test_other_functions_of_a_file_do_not_matter() -> None:
    """Loops are read beside templates, classes and lambdas; those are refused with reasons."""
    text = """
template <typename T> struct Pool { T *data; void clear() { for (int i = 0; i < 9; i++) {} } };
class Grid { int n; public: Grid(int n); void run() { for (int i = 0; i < n; i++) step(); } };
void Grid::step() { while (true) { } }
int count(int n, int *a) {
  int k = 0;
  auto f = [&](int x) { for (int i = 0; i < x; i++) k++; };
  f(n);
  return k;
}
void fill(int n, double *a) { for (int i = 0; i < n; i++) a[i] = 1; }
void fill(int n, float *a) { for (int i = 0; i < n; i++) a[i] = 2; }
"""
    found = find_in_text(text, "a.cpp")
    assert [region.name for region in found.regions] == ["fill", "fill__2"]
    reasons = {refused.function: refused.message for refused in found.refused}
    assert reasons == {
        "Pool": "templates are not supported",
        "Grid__run": "member functions are not supported",
        "Grid__step": "member functions are not supported",
        "count": "a function inside an expression is not supported",
    }


def test_literals() -> None:
    """Separators and raw strings leave lines and columns as they are."""
    text = "int n = 1'000'000; char c = '\\''; s = R\"x(\n\"a\" )x\"; // it's\n"
    plain = plain_literals(text)
    assert [len(line) for line in plain.split("\n")] == [len(line) for line in text.split("\n")]
    assert plain.startswith("int n = 1000000  ; char c = '\\''; s = \"\"")


def test_a_c_file_has_no_cpp() -> None:
    """The ending of the file decides."""
    with pytest.raises(InputError):
        parse_text(
            "#pragma scop\nfor (auto i = 0; i < n; i++) a[i] = double(i);\n#pragma endscop\n"
        )
