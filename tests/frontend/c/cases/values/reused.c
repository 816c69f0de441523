// n=9
void f(int n, double x[n], double y[n]) {
  int i, k, l;
#pragma scop
  k = 3;
  l = k;
  k = 1;
  for (k = 0; k < n; k++) x[k] = l;
  l = k;
  for (k = 0; k < 2; k++) y[l - 1 - k] = 1 + l;
#pragma endscop
}
