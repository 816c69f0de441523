// refused: rows to be of another length
void s(int n, double A[n][n]) { A[1][0] = 3; }
void f(int n, double X[n][n+1]) {
  assert(n > 2);
#pragma scop
  s(n, X);
#pragma endscop
}
