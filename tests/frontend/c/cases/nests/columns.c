// n=5 m=7
void f(int n, int m, double A[n * m], double s[m]) {
#pragma scop
  for (int j = 0; j < m; j++) {
    int k = j;
    for (int i = 0; i < n; i++) {
      s[j] += A[k];
      k += m;
    }
  }
#pragma endscop
}
