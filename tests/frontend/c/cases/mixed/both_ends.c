// n=12
void f(int n, double x[4*n], double y[n]) {
  int k = 0, l = 4 * n - 1;
#pragma scop
  for (int i = 0; i < n; i++) {
    x[k++] = y[i]; x[k++] = -y[i];
    x[l--] += k; l -= 1;
  }
#pragma endscop
}
