// h=6,w=5,lda=7,k=3
// Indices without a sign do not wrap around in an array of less than 2^32 elements.
void unsigned_rows(unsigned h, unsigned w, unsigned lda, int k, const unsigned char *in,
                   unsigned char *out, int *sum) {
#pragma scop
  for (unsigned y = 1; y < h - 1; y++)
    for (unsigned x = 1; x < w - 1; x++)
      out[y * w + x] = in[(y - 1) * w + x] + in[(y + 1) * w + x - 1];
  for (unsigned y = 0; y < h; y++)
    for (int c = 0; c < k; c++)
      sum[y * lda + c] = in[y * w] + c;
#pragma endscop
}
