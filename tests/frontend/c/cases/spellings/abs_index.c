// n=9 m=7
#include <stdlib.h>
void f(int n, int m, double a[n][m], double d[n + m]) {
#pragma scop
  for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { a[i][j] = d[abs(i - j)]; if (abs(i - j) < 2) a[i][j] += 1; }
#pragma endscop
}
