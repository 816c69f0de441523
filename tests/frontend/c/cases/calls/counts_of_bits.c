// n=20
#include <stdint.h>
static int helper(uint64_t x) { return __builtin_ctzll(x | 1024) + __builtin_parityl(x); }
void counts_of_bits(int n, unsigned a[n], uint64_t b[n], int c[n], unsigned char d[n]) {
  int s = 0;
#pragma scop
  for (int i = 0; i < n; i++) {
    c[i] = __builtin_popcount(a[i] ^ 0x1234567u) + 100 * __builtin_popcountll(b[i]);
    s += __builtin_parity(i) ? -c[i] : c[i];
    c[i] += __builtin_ctz(d[i] | 256) + __builtin_popcount(-i);
  }
  c[0] += s + helper(b[0]);
#pragma endscop
}
