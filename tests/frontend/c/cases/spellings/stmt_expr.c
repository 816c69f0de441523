// n=5
// A block inside an expression has the value of its last statement.
void f(int n, double a[n]) {
#pragma scop
  for (int i = 0; i < n; i++) a[i] = ({ double t = a[i]; t * t; });
#pragma endscop
}
