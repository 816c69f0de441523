// n=8
void f(int n, double x[n]) {
  int i, j;
  for (i = 0; i < 3; i++) {
    j = i + 1;
#pragma scop
    for (int k = j; k < n; k++) x[k] = x[k - j] + i;
#pragma endscop
  }
}
