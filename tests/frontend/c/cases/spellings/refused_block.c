// refused: a block inside an expression is not supported
void f(int n, double a[n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    a[i] = ({ double s = 0; for (int j = 0; j < i; j++) s += j; s; });
#pragma endscop
}
