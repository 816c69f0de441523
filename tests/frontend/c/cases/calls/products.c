// n=9
void mm(int n, double C[n][n], double A[n][n], double B[n][n]) {
  for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { double acc = 0; for (int k = 0; k < n; k++) acc += A[i][k] * B[k][j]; C[i][j] = acc; }
}
void f(int n, double X[n][n], double Y[n][n], double Z[n][n]) {
#pragma scop
  mm(n, X, Y, Z);
  mm(n, Z, X, X);
#pragma endscop
}
