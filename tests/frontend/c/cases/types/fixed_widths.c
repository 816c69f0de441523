// n=9
#include <stdint.h>
#include <stddef.h>
void f(size_t n, int16_t a[n], uint16_t b[n], int64_t c[n], uint64_t d[n], uint32_t e[n], int8_t g[n], double x[n], float y[n]) {
#pragma scop
  for (size_t i = 0; i < n; i++) { a[i] = b[i] * 600 + g[i]; b[i] = a[i] - 70000; c[i] = d[i] - e[i] * 3; d[i] = -c[i] + i; e[i] = ~e[i] >> 3; g[i] = e[i] << 2 | 1; x[i] = d[i] + e[i]; y[i] = b[i] / 3 + g[i] % 5; e[i] = e[i] / 7 + d[i] % 11u; b[i] >>= 1; }
#pragma endscop
}
