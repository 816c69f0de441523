// refused: this change of i is not supported
void f(int n, double a[n]) {
#pragma scop
  for (int i = 1; i < n; i *= 2) a[i] += 1;
#pragma endscop
}
