"""The library's import leaves the process as it was: handlers, stacks, threads, rounding.

Each case is a script in a process of its own, since an import happens once.
"""

import subprocess
import sys

import pytest

PRELUDE = """
import ctypes, os, signal, sys, threading
from polygym.poly.spaces.generators import LinearConstraint, enumerate_generators
from polygym.poly.spaces.generators import ppl_module

def use():
    found = enumerate_generators([LinearConstraint((2,), -1)], 1)
    assert found.vertices[0].denominator == 2, found

def handlers():
    library = ctypes.CDLL(None)
    library.sigaction.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    library.sigaltstack.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
    found = []
    for number in range(1, signal.NSIG):
        action = ctypes.create_string_buffer(1024)
        if library.sigaction(number, None, action) == 0:
            found.append((number, ctypes.c_void_p.from_buffer(action).value))
    stack = ctypes.create_string_buffer(1024)
    library.sigaltstack(None, stack)
    return found, stack.raw[:24]
"""


def run(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PRELUDE + script], capture_output=True, text=True, timeout=60
    )


def output_of(script: str) -> str:
    done = run(script)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


IMPORTS = {
    "main": "use()\n",
    "thread": "t = threading.Thread(target=use)\nt.start()\nt.join()\nuse()\n",
}


@pytest.fixture(params=sorted(IMPORTS))
def imports(request: pytest.FixtureRequest) -> str:
    return IMPORTS[request.param]


def test_no_handler_and_no_stack_is_changed(imports: str) -> None:
    output_of(
        "real = signal.signal\nbefore = handlers()\n"
        + imports
        + "assert handlers() == before\nassert signal.signal is real\n"
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
        "assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == set()\n"
    )


def test_handlers_of_the_user_stay_in_force(imports: str) -> None:
    output = output_of(
        "seen = []\n"
        "kept = (signal.SIGINT, signal.SIGALRM, signal.SIGUSR1, signal.SIGHUP, signal.SIGABRT)\n"
        "for number in kept:\n"
        "    signal.signal(number, lambda n, frame: seen.append(signal.Signals(n).name))\n"
        "signal.signal(signal.SIGQUIT, signal.SIG_IGN)\n"
        + imports
        + "for number in (*kept, signal.SIGQUIT):\n    signal.raise_signal(number)\n"
        "print(*seen)\n"
    )
    assert output.split() == ["SIGINT", "SIGALRM", "SIGUSR1", "SIGHUP", "SIGABRT"]


def test_the_crash_report_of_the_user_stays_in_force() -> None:
    done = run("import faulthandler\nfaulthandler.enable()\nuse()\nctypes.string_at(0)\n")
    assert done.returncode == -11
    assert done.stderr.startswith("Fatal Python error: Segmentation fault")
    assert "Unhandled" not in done.stderr


def test_control_c_is_a_keyboard_interrupt(imports: str) -> None:
    output = output_of(
        imports + "try:\n    os.kill(os.getpid(), signal.SIGINT)\n    signal.pause()\n"
        "except KeyboardInterrupt:\n    print('interrupted')\nuse()\n"
    )
    assert output == "interrupted\n"


@pytest.mark.parametrize(
    ("death", "status"),
    [
        ("os.kill(os.getpid(), signal.SIGTERM)\nsignal.pause()\n", -15),
        ("os.kill(os.getpid(), signal.SIGSEGV)\n", -11),
        ("ctypes.string_at(0)\n", -11),
        ("os.abort()\n", -6),
    ],
    ids=["terminated", "sent", "segfault", "abort"],
)
def test_signals_end_the_process_without_reports(death: str, status: int) -> None:
    done = run("use()\n" + death)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", "")


def test_other_threads_set_handlers_during_the_import() -> None:
    output = output_of(
        "import polygym.poly.spaces.generators as module\n"
        "real, asked, done = signal.signal, threading.Event(), threading.Event()\n"
        "original = module._preserve_signal_handlers\n"
        "from contextlib import contextmanager\n"
        "@contextmanager\n"
        "def slow():\n"
        "    with original():\n"
        "        asked.set()\n"
        "        done.wait(10)\n"
        "        yield\n"
        "module._preserve_signal_handlers = slow\n"
        "t = threading.Thread(target=use)\nt.start()\nasked.wait(10)\n"
        "handler = lambda number, frame: print('heard')\n"
        "signal.signal(signal.SIGUSR1, handler)\n"
        "done.set()\nt.join()\n"
        "assert signal.getsignal(signal.SIGUSR1) is handler\n"
        "assert signal.signal is real\n"
        "signal.raise_signal(signal.SIGUSR1)\n"
    )
    assert output == "heard\n"


def test_many_threads_at_once() -> None:
    output_of(
        "threads = [threading.Thread(target=use) for _ in range(8)]\n"
        "for t in threads: t.start()\nfor t in threads: t.join()\nuse()\n"
    )


def test_a_fork_inherits_the_library(imports: str) -> None:
    output = output_of(
        imports + "child = os.fork()\n"
        "if not child:\n    use()\n    signal.raise_signal(signal.SIGTERM)\n"
        "_, status = os.waitpid(child, 0)\nprint(os.waitstatus_to_exitcode(status))\n"
    )
    assert output == "-15\n"


def test_a_fork_imports_for_itself() -> None:
    output = output_of(
        "child = os.fork()\nif not child:\n    use()\n    os._exit(7)\n"
        "_, status = os.waitpid(child, 0)\nuse()\nprint(os.waitstatus_to_exitcode(status))\n"
    )
    assert output == "7\n"


def test_floating_point_rounds_to_nearest(imports: str) -> None:
    output_of(
        "rounding = ctypes.CDLL('libm.so.6').fegetround\nbefore = rounding(), 0.1 + 0.2, 1 / 3\n"
        + imports
        + "assert (rounding(), 0.1 + 0.2, 1 / 3) == before\n"
        "inside = []\n"
        "def look():\n    use()\n    inside.append((rounding(), 0.1 + 0.2, 1 / 3))\n"
        "t = threading.Thread(target=look)\nt.start()\nt.join()\nassert inside == [before]\n"
    )


def test_a_missing_library_leaves_everything_in_place() -> None:
    output_of(
        "sys.modules['ppl'] = None\nreal, before = signal.signal, handlers()\n"
        "try:\n    ppl_module()\nexcept ImportError:\n    pass\nelse:\n    raise AssertionError\n"
        "assert handlers() == before\nassert signal.signal is real\n"
        "del sys.modules['ppl']\nuse()\n"
    )
