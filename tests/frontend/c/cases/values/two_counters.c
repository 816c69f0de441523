// n=9
void f(int n, double x[n], double y[n]) {
  int i, j;
#pragma scop
  for (i = n - 1, j = 0; i >= j; i--, j++) { double t; t = x[i]; x[i] = x[j]; x[j] = t; }
  for (i = 0, j = n - 1; i < n; i++, j--) y[j] = x[i] + j;
#pragma endscop
}
