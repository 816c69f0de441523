// n=2
void f(int n, double x[n+n], int y[n]) {
  int i, j, k;
#pragma scop
  k = 0;
  for (i = 0; i < n; i++) { for (j = 0; j < n; j++) { x[k] = y[j] + k; k++; } }
#pragma endscop
}
