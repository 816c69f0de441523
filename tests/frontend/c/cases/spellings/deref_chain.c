// n=9 m=4
void f(int n, int m, double A[n][m]) {
#pragma scop
  for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) *(*(A + i) + j) = (*(A + i))[m - 1 - j] + *A[i];
#pragma endscop
}
