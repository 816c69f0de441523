// n=9 m=6
#define N (16 * 2 - 12)
typedef float real;
static int nothing(void) { return 0; }
void f(int n, int m, int a[N], real b[n], long c[n]) {
  int t[12];
#pragma scop
  for (int i = 0; i < sizeof(t) / sizeof(t[0]); i++) t[i] = i + sizeof(int) * 3 + sizeof t;
  for (int i = 0; (i < n) & (i < m); i++) { c[i] = sizeof(a) + sizeof(a[0]) + sizeof b[0] + sizeof(real *) + t[i % 12]; nothing(); }
  for (int i = 0; i < n; i++) if (__builtin_expect(b[i] > 0.02, 1) & (i > 1) | (i == 3)) b[i] = t[i % 12];
#pragma endscop
}
