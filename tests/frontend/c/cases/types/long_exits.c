// n=9
void f(int n, double x[n]) {
  int i; int j;
#pragma scop
  for (j = 0; j < n; ++j) for (i = j; i < n; i += 2) x[i - j] += x[i];
  x[i - n] = j;
#pragma endscop
}
