"""C++ files with loops of C: their tokens as those of C.

======================  ======================================================================
``bodies``              bodies of functions: casts, references, words of C++
``code_rewriter``       what all rewriters of code share
``context``             what is known of a file and of one function
``effects``             functions that may change something
``file_scope``          declarations, namespaces, linkage
``heads``               heads of functions: references, vectors
``literals``            numbers and strings that C writes in another way
``local_declarations``  declarations in functions
``names``               names of C++ and of its library that mean something in C
``reading``             translation of a file
``signs``               signs that a refused text is C++
``structures``          structures and enumerations
``tokens``              token lists with brackets
``types``               types
======================  ======================================================================

No C++ parser is used: libclang reads all of C++, but needs the library's headers, which differ from
machine to machine, and its trees would need a front end of their own. The loops that can be
modelled are those of C, so the passes for C are given their tokens.
"""

from polygym.frontend.c.source.cpp.reading import CppText, read_cpp

__all__ = ["CppText", "read_cpp"]
