// m=3 n=9
void f(int n, int m, double A[n * m], double s[n]) {
  int k = 0;
#pragma scop
  for (int i = 0; i < n; i++) {
    s[i] = A[k];
    k += m;
  }
#pragma endscop
}
