// n=16
void f(int n, double a[n], double b[n], double c[n], double d[n]) {
  int j, k;
#pragma scop
  j = -1;
  for (int i = 0; i < n / 2; i++) { k = j + 1; a[i] = b[k] - d[i]; j = k + 1; b[k] = a[i] + c[k]; }
#pragma endscop
}
