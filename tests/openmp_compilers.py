"""C compilers that can link OpenMP programs here: clang often comes without its library."""

import shutil
import subprocess
from functools import cache


@cache
def links_openmp(compiler: str) -> bool:
    """Say whether a compiler is installed together with its library of OpenMP."""
    if shutil.which(compiler) is None:
        return False
    command = [compiler, "-fopenmp", "-x", "c", "-", "-o", "/dev/null"]
    program = "int main(void) { return 0; }\n"
    done = subprocess.run(command, input=program, capture_output=True, text=True, check=False)
    return done.returncode == 0
