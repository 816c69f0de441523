// refused: a block inside an expression is not supported
void f(int n, double a[n]) {
#pragma scop
  for (int i = 0; i < n; i++) a[i] = ({ double t = a[i]; t * t; });
#pragma endscop
}
