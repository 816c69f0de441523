// n=9
void f(int n, double x[n], double y[n]) {
  int k, j = 0, i;
#pragma scop
  for (i = 1; i < n; i++) { k = i - 1; y[i] = x[k]; x[k] = y[k] + k; }
#pragma endscop
}
