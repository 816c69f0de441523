"""What it costs that threads meet: how much work a parallel loop must have for it to be shared out.

A parallel loop is a message to every thread and one back. On a virtual machine with two cores one
such pair takes 1.0 µs through libgomp as long as both spin, and 15 µs where one has gone to sleep;
a line of a cache takes 0.66 µs one way, so that no other library would be much faster. In a
microsecond a core runs some thousands of instances in vectors. So a loop has to have

    MIN_PARALLEL_WORK = 16384 instances

or it runs in one thread. This is one number for all machines, so that what a program becomes does
not depend on who has measured what. Example: a tile of 64 by 64 points has 4096; four of them on a
diagonal are shared out, three are not.

It is asked in two places: while code runs, with the bounds that a loop has just then
(:mod:`polygym.codegen.llvm.loops.emit_parallel`), and before, of sums that threads would have
copies for (:mod:`polygym.codegen.tree.transforms.parallel_reductions`).
"""

MIN_PARALLEL_WORK = 16384
"""How many instances of statements a loop has at least that is shared out among threads."""
