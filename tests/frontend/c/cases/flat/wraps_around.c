// refused: how large A is cannot be told
// In 32 bits without a sign i * m + j may be anything below 2^32.
void wraps_around(unsigned n, unsigned m, double *A) {
#pragma scop
  for (unsigned i = 0; i < n; i++)
    for (unsigned j = 0; j < m; j++)
      A[i * m + j] += 1;
#pragma endscop
}
