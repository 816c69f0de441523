// n=9
#define MAX(a, b) ({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); _a > _b ? _a : _b; })
#define MIN(a, b) ({ __auto_type _x = (a); typeof(b) _y = (b); _x < _y ? _x : _y; })
#define CLAMP(x, lo, hi) MIN(MAX(x, lo), hi)
#define SWAP(a, b) do { __typeof__(a) t = a; a = b; b = t; } while (0)
void f(int n, double a[n], float b[n], unsigned char c[n], short v[n]) {
  assert(n <= 12);
#pragma scop
  for (int i = 0; i < MIN(n, 12); i++) {
    a[i] = MAX(MAX(a[i], b[i]), 1) + MIN(i, 2u);
    __auto_type t = b[i];
    t = t * 3;
    a[i] += t;
    v[i] = MIN(v[i], a[i]);
    c[i] = CLAMP(c[i] - 100 + i, 0, 255);
    const __typeof__(c[0] + 1) wide = c[i];
    c[i] = wide * wide / 200;
    if (MAX(b[i], 0.5f) > 1)
      SWAP(b[i], b[0]);
  }
#pragma endscop
}
