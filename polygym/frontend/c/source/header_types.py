"""Types of standard headers beyond the usual ones, each known where its header is included.

Real files name them in functions around the loops, and the parser must be told that they are types.
What is in them is not looked at: a structure here stands for any.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache

from polygym.frontend.c.tokens.standard_headers import OPAQUE, TYPEDEFS

_LEAST_AND_FAST = {
    "signed char": "int_least8_t int_fast8_t",
    "short": "int_least16_t",
    "int": "int_least32_t",
    "long": "int_least64_t int_fast16_t int_fast32_t int_fast64_t intmax_t",
    "unsigned char": "uint_least8_t uint_fast8_t",
    "unsigned short": "uint_least16_t",
    "unsigned int": "uint_least32_t",
    "unsigned long": "uint_least64_t uint_fast16_t uint_fast32_t uint_fast64_t uintmax_t",
}
_POSIX = {
    "long": "off_t blkcnt_t blksize_t suseconds_t id_t off64_t loff_t",
    "int": "pid_t clockid_t key_t",
    "unsigned int": "mode_t uid_t gid_t useconds_t u_int32_t uint u_int",
    "unsigned long": "dev_t ino_t nlink_t u_int64_t ulong u_long fsblkcnt_t",
    "unsigned char": "u_int8_t u_char",
    "unsigned short": "u_int16_t ushort u_short",
    "char *": "caddr_t",
    "struct": "fd_set timer_t",
}
_THREADS = {
    "struct": "pthread_t pthread_attr_t pthread_mutex_t pthread_mutexattr_t pthread_cond_t "
    "pthread_condattr_t pthread_barrier_t pthread_barrierattr_t pthread_rwlock_t pthread_key_t "
    "pthread_once_t pthread_spinlock_t cpu_set_t",
}
_VECTORS = {
    "struct": "__m64 __m128 __m128d __m128i __m256 __m256d __m256i __m512 __m512d __m512i",
    "unsigned char": "__mmask8",
    "unsigned short": "__mmask16",
    "unsigned int": "__mmask32",
    "unsigned long": "__mmask64",
}
_SIGNALS = {"int": "sig_atomic_t", "struct": "sigset_t siginfo_t stack_t"}

# A structure as a type stands for one that nobody looks into.
_HEADER_TYPES: dict[str, dict[str, str]] = {
    "stdint.h": _LEAST_AND_FAST,
    "inttypes.h": _LEAST_AND_FAST | {"struct": "imaxdiv_t"},
    "sys/types.h": _POSIX,
    "unistd.h": _POSIX,
    "stdlib.h": _POSIX | {"struct": "div_t ldiv_t lldiv_t fd_set timer_t", "int": "wchar_t pid_t"},
    "stdio.h": {"struct": "fpos_t", "long": "off_t"},
    "stddef.h": {"int": "wchar_t", "struct": "max_align_t"},
    "wchar.h": {"int": "wchar_t", "unsigned int": "wint_t", "struct": "mbstate_t"},
    "wctype.h": {"int": "wchar_t", "unsigned int": "wint_t", "unsigned long": "wctype_t"},
    "math.h": {"float": "float_t", "double": "double_t"},
    "time.h": {"int": "clockid_t pid_t", "struct": "timer_t locale_t"},
    "sys/time.h": _POSIX,
    "sys/stat.h": _POSIX,
    "sys/mman.h": _POSIX,
    "sys/wait.h": _POSIX,
    "sys/select.h": _POSIX,
    "sys/socket.h": _POSIX | {"unsigned int": "socklen_t", "unsigned short": "sa_family_t"},
    "netinet/in.h": {"unsigned int": "socklen_t in_addr_t", "unsigned short": "in_port_t"},
    "sys/resource.h": {"unsigned long": "rlim_t"},
    "fcntl.h": {"long": "off_t", "unsigned int": "mode_t", "int": "pid_t"},
    "dirent.h": {"struct": "DIR", "unsigned long": "ino_t"},
    "pthread.h": _THREADS,
    "sched.h": {"struct": "cpu_set_t", "int": "pid_t"},
    "semaphore.h": {"struct": "sem_t"},
    "threads.h": {"struct": "thrd_t mtx_t cnd_t tss_t once_flag"},
    "setjmp.h": {"struct": "jmp_buf sigjmp_buf"},
    "signal.h": _SIGNALS,
    "regex.h": {"struct": "regex_t regmatch_t", "long": "regoff_t"},
    "locale.h": {"struct": "locale_t"},
    "fenv.h": {"struct": "fenv_t", "unsigned short": "fexcept_t"},
    "omp.h": {"struct": "omp_lock_t omp_nest_lock_t", "int": "omp_sched_t omp_proc_bind_t"},
    "mpi.h": {"struct": "MPI_Comm MPI_Datatype MPI_Request MPI_Status MPI_Op MPI_Win MPI_File"},
    **dict.fromkeys(
        ("immintrin.h", "x86intrin.h", "xmmintrin.h", "emmintrin.h", "pmmintrin.h", "avxintrin.h"),
        _VECTORS,
    ),
}

_ATOMIC_TYPES = {
    meaning: " ".join(f"atomic_{name}" for name in names.split())
    for meaning, names in {
        "_Bool": "bool",
        "char": "char",
        "signed char": "schar int_least8_t int_fast8_t",
        "unsigned char": "uchar uint_least8_t uint_fast8_t",
        "short": "short int_least16_t",
        "unsigned short": "ushort uint_least16_t",
        "int": "int flag int_least32_t",
        "unsigned int": "uint uint_least32_t",
        "long": "long llong intptr_t ptrdiff_t intmax_t int_least64_t int_fast16_t int_fast32_t "
        "int_fast64_t",
        "unsigned long": "ulong ullong size_t uintptr_t uintmax_t uint_least64_t uint_fast16_t "
        "uint_fast32_t uint_fast64_t",
    }.items()
}
_HEADER_TYPES["stdatomic.h"] = {
    f"_Atomic {meaning}": names for meaning, names in _ATOMIC_TYPES.items()
} | {"int": "memory_order"}


@cache
def known_header_types() -> Mapping[str, str]:
    """Return what each type of a header means, whether the header is included or not.

    >>> known_header_types()["off_t"], known_header_types()["pthread_t"]
    ('long', 'struct _polygym_pthread_t')
    """
    words = re.findall(r"typedef ([^;]*?) ?(\w+);", f"{TYPEDEFS} {header_typedefs(_HEADER_TYPES)}")
    return {name: meaning for meaning, name in words}


def header_typedefs(headers: Iterable[str]) -> str:
    """Return declarations of the types that some headers have, on one line, each type once.

    >>> header_typedefs(["semaphore.h", "locale.h", "nobody.h"])
    'typedef struct _polygym_locale_t locale_t; typedef struct _polygym_sem_t sem_t;'
    """
    meanings: dict[str, str] = {}
    for header in sorted(headers):
        for meaning, names in _HEADER_TYPES.get(header, {}).items():
            for name in names.split():
                own = f"struct {OPAQUE}{name}" if meaning == "struct" else meaning
                meanings.setdefault(name, own)
    return " ".join(f"typedef {meaning} {name};" for name, meaning in meanings.items())
