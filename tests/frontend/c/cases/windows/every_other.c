// refused: the size of A multiplies two values
void f(int n, int m, double A[n * m]) {
#pragma scop
  for (int t = 0; t < n * m; t += 2)
    A[t] = 1;
#pragma endscop
}
