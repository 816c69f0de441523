// n=7,m=5,k=6
// A counter without a sign ends behind 0.
#include <stddef.h>
#include <stdint.h>
void unsigned_countdown(size_t n, unsigned m, uint16_t k, uint8_t *a, uint8_t *b, int *c) {
#pragma scop
  uint8_t *p = a;
  while (n--) {
    int v = *p + 20;
    *p++ = v > 255 ? 255 : (uint8_t)v;
  }
  while (m-- > 0)
    b[m] = b[m + 1] + m;
  while (k--)
    c[k] += k;
#pragma endscop
}
