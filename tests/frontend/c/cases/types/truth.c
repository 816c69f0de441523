// n=9
#include <stdbool.h>
void f(int n, bool p[n], _Bool q[n], int a[n], double x[n]) {
#pragma scop
  for (int i = 0; i < n; i++) { p[i] = a[i] - 4; q[i] = x[i] > 0.1; q[i] += 3; a[i] = p[i] + q[i] * 2; if (p[i] && !q[i]) x[i] = 1; x[i] += p[i]; p[i] = 0.5; }
#pragma endscop
}
