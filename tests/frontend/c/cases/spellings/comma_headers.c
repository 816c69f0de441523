// n=9
void f(int n, double a[n], double b[n]) {
  int i, j;
#pragma scop
  for (i = 0, j = n - 1; i < n; ++i, --j) a[i] = b[j];
  for (i = 0, j = 0; j < n; j++, i++) b[i] = a[j] * 2, a[j] = 1;
#pragma endscop
}
