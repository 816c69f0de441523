// refused: compound_literal.c:4:38: error: compound literals are not supported
void f(int n, double a[n]) {
#pragma scop
  for (int i = 0; i < n; i++) a[i] = (double[]){1, 2, 3}[i % 3];
#pragma endscop
}
