"""The compiler: a program and a schedule go in, machine code comes out.

``ir`` is the program as a value (a :class:`~polygym.compiler.ir.scop.Scop`); ``poly`` has its
dependences, its schedules and the space of all legal ones; ``storage`` gives its arrays other
homes; ``frontend`` reads C and tensor comprehensions; ``codegen`` turns a program with a schedule
and a mapping into loops, LLVM IR and object code. Nothing here runs what it makes, opens a window
or prints.
"""

__all__ = ["codegen", "frontend", "ir", "poly", "storage"]
