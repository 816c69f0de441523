"""Complex numbers as pairs of reals, in the layout that they have in memory.

==================  ==========================================================================
``declarations``    declarations of complex variables as arrays of pairs
``arithmetic``      expressions of complex numbers as two expressions of reals
``multiplication``  products with the infinities of the C standard's Annex G
``rewriting``       the pass: statements of a region, one after the other
==================  ==========================================================================

::

    double complex a[n], b[n];            double a[n][2], b[n][2];
    a[i] = a[i] + 2 * b[i];          →    a[i][0] = a[i][0] + 2 * b[i][0];
                                          a[i][1] = a[i][1] + 2 * b[i][1];
"""

from polygym.frontend.c.desugar.complex_numbers.rewriting import with_pairs_of_reals

__all__ = ["with_pairs_of_reals"]
