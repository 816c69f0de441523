// refused: give the size a name of its own
void f(int n, double A[n * (n + 1) / 2], double s[n]) {
  int k = 0;
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++)
      s[i] += A[k++];
#pragma endscop
}
