// refused: how large A is cannot be told
void unsigned_that_may_wrap(unsigned h, unsigned w, int *A) {
#pragma scop
  for (unsigned y = 0; y < h; y++)
    for (unsigned x = 0; x < w; x++)
      A[32 * y * w + x] = 1;
#pragma endscop
}
