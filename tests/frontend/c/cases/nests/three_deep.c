// n=3 m=4 l=5
void f(int n, int m, int l, double A[n * m * l], double s[n]) {
  int k = 0;
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      for (int h = 0; h < l; h++)
        s[i] += A[k++];
#pragma endscop
}
