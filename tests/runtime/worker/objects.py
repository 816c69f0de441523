"""Object code for the tests: small LLVM programs that behave well or badly on purpose.

Every function returns object code whose ``polygym_run`` takes one buffer of doubles and one
parameter, the number n of its elements. The body given to :func:`compile_kernel` is timed; it finds
the addresses in ``%data`` and ``%n``. The array starts as 0, 1, 2, ... and the original doubles it.
"""

from __future__ import annotations

from functools import cache

import llvmlite.binding as llvm

from polygym.ir.types import ScalarType
from polygym.runtime.worker.problem import Buffer, CompiledProgram, Problem

_FRAME = """
%timespec = type {{ i64, i64 }}
declare i32 @clock_gettime(i32, ptr)
declare void @abort()
declare void @_exit(i32)
declare i32 @usleep(i32)
declare ptr @malloc(i64)
declare i32 @getppid()
declare i32 @getpid()
declare i32 @kill(i32, i32)
declare void @llvm.trap()
{globals}

define internal i64 @now() {{
  %t = alloca %timespec
  call i32 @clock_gettime(i32 1, ptr %t)
  %s = load i64, ptr %t
  %p = getelementptr %timespec, ptr %t, i32 0, i32 1
  %f = load i64, ptr %p
  %b = mul i64 %s, 1000000000
  %r = add i64 %b, %f
  ret i64 %r
}}

define internal i32 @kernel(ptr %data, i64 %n) {{
entry:
{body}
}}

define i32 @polygym_run(ptr %arguments, ptr %nanoseconds) {{
  %data = load ptr, ptr %arguments
  %slot = getelementptr ptr, ptr %arguments, i64 1
  %cell = load ptr, ptr %slot
  %n = load i64, ptr %cell
  %before = call i64 @now()
  %code = call i32 @kernel(ptr %data, i64 %n)
  %after = call i64 @now()
  %elapsed = sub i64 %after, %before
  store i64 %elapsed, ptr %nanoseconds
  ret i32 %code
}}
"""

# A loop over the elements that stores %value, which the text in the middle computes.
_LOOP = """
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %place = getelementptr double, ptr %data, i64 %i
  {value}
  store double %value, ptr %place
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  {end}
"""

_LOOP_DOUBLE = "%old = load double, ptr %place\n  %value = fmul double %old, 2.0"


def double_then(end: str) -> str:
    """Return a body that doubles the array and then does something else."""
    return _LOOP.format(value=_LOOP_DOUBLE, end=end)


@cache
def compile_kernel(body: str, global_text: str = "") -> bytes:
    """Compile a kernel's body to object code for this machine."""
    return compile_text(_FRAME.format(body=body, globals=global_text))


@cache
def compile_text(text: str) -> bytes:
    """Compile a whole LLVM module to object code for this machine."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple().create_target_machine(opt=1, reloc="pic")
    module = llvm.parse_assembly(text)
    module.verify()
    return bytes(target.emit_object(module))


def iota() -> bytes:
    """Write 0, 1, 2, ..."""
    return compile_kernel(_LOOP.format(value="%value = sitofp i64 %i to double", end="ret i32 0"))


def doubled() -> bytes:
    """Double every element, as the original does."""
    return compile_kernel(double_then("ret i32 0"))


def doubled_by_adding() -> bytes:
    """Compute the same in another way."""
    value = "%old = load double, ptr %place\n  %value = fadd double %old, %old"
    return compile_kernel(_LOOP.format(value=value, end="ret i32 0"))


def scaled(factor: float) -> bytes:
    """Multiply every element by a factor."""
    value = f"%old = load double, ptr %place\n  %value = fmul double %old, {float(factor)!r}"
    return compile_kernel(_LOOP.format(value=value, end="ret i32 0"))


def wrong_at_the_end() -> bytes:
    """Double the array, then write -1 into the last element."""
    return compile_kernel(
        double_then("""%last = sub i64 %n, 1
  %end = getelementptr double, ptr %data, i64 %last
  store double -1.0, ptr %end
  ret i32 0""")
    )


def wrong_from_run(number: int) -> bytes:
    """Count its runs in a global variable; from the given one on, write -1 into element 3."""
    return compile_kernel(
        double_then(f"""%count = load i64, ptr @runs
  %new = add i64 %count, 1
  store i64 %new, ptr @runs
  %late = icmp sge i64 %new, {number}
  br i1 %late, label %spoil, label %good
spoil:
  %third = getelementptr double, ptr %data, i64 3
  store double -1.0, ptr %third
  br label %good
good:
  ret i32 0"""),
        "@runs = internal global i64 0",
    )


def writes_at(offset: int) -> bytes:
    """Double the array, then write a byte at an offset from the array's beginning."""
    return compile_kernel(
        double_then(f"""%beside = getelementptr i8, ptr %data, i64 {offset}
  store volatile i8 1, ptr %beside
  ret i32 0""")
    )


def writes_to_address(address: int) -> bytes:
    """Double the array, then write -1 to an absolute address."""
    return compile_kernel(
        double_then(f"""%wild = inttoptr i64 {address} to ptr
  store volatile double -1.0, ptr %wild
  ret i32 0""")
    )


def divides_by_zero() -> bytes:
    """Divide integers by zero where the optimiser cannot see it."""
    return compile_kernel(
        """  %zero = load volatile i64, ptr @zero
  %quotient = sdiv i64 %n, %zero
  store volatile i64 %quotient, ptr @zero
  ret i32 0""",
        "@zero = internal global i64 0",
    )


def traps() -> bytes:
    """Execute an illegal instruction."""
    return compile_kernel("  call void @llvm.trap()\n  unreachable")


def aborts() -> bytes:
    """Call abort."""
    return compile_kernel("  call void @abort()\n  unreachable")


def exits(status: int) -> bytes:
    """End the process as if all were well."""
    return compile_kernel(f"  call void @_exit(i32 {status})\n  unreachable")


def loops_forever() -> bytes:
    """Never return, and compute."""
    return compile_kernel("  br label %again\nagain:\n  call i32 @getppid()\n  br label %again")


def spins(rounds: int) -> bytes:
    """Count for a while (about a nanosecond a round), then double the array."""
    return compile_kernel(
        f"""  br label %spin
spin:
  %count = phi i64 [ 0, %entry ], [ %counted, %spin ]
  store volatile i64 %count, ptr @counter
  %counted = add i64 %count, 1
  %on = icmp slt i64 %counted, {rounds}
  br i1 %on, label %spin, label %start
start:
"""
        + double_then("ret i32 0").replace("%entry", "%start"),
        "@counter = internal global i64 0",
    )


def sleeps(microseconds: int) -> bytes:
    """Sleep, then double the array."""
    return compile_kernel(
        f"  call i32 @usleep(i32 {microseconds})\n  br label %start\nstart:\n"
        + double_then("ret i32 0").replace("%entry", "%start")
    )


def allocates(bytes_at_once: int) -> bytes:
    """Allocate until malloc fails, then return 1."""
    return compile_kernel(f"""  br label %again
again:
  %memory = call ptr @malloc(i64 {bytes_at_once})
  %full = icmp eq ptr %memory, null
  br i1 %full, label %out, label %again
out:
  ret i32 1""")


def returns(code: int) -> bytes:
    """Return a code at once."""
    return compile_kernel(f"  ret i32 {code}")


def sends_signal(number: int, to: str) -> bytes:
    """Send a signal to itself (``getpid``) or to the supervisor (``getppid``), then sleep."""
    return compile_kernel(f"""  %process = call i32 @{to}()
  call i32 @kill(i32 %process, i32 {number})
  call i32 @usleep(i32 300000)
  ret i32 0""")


def forgets_the_time() -> bytes:
    """Return 0 without storing a time."""
    return compile_text(
        "define i32 @polygym_run(ptr %arguments, ptr %nanoseconds) {\n  ret i32 0\n}"
    )


def calls_unknown() -> bytes:
    """Need a symbol that no library has."""
    return compile_text("""declare i32 @polygym_no_such_function()
define i32 @polygym_run(ptr %arguments, ptr %nanoseconds) {
  %code = call i32 @polygym_no_such_function()
  ret i32 %code
}""")


def program(object_code: bytes, elements: int = 100) -> CompiledProgram:
    """Return a program on the one buffer."""
    return CompiledProgram(object_code, (0,), (elements,))


def problem(elements: int = 100, original: bytes | None = None) -> Problem:
    """Return the problem of doubling 0, 1, 2, ..."""
    return Problem(
        (Buffer("A", ScalarType.DOUBLE, elements),),
        program(iota(), elements),
        program(doubled() if original is None else original, elements),
    )
