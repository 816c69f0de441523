// n=6 m=8
void f(int n, int m, double *A) {
  int size = n * m;
#pragma scop
  for (int t = 0; t < size - 1; t++)
    A[t] = A[t + 1];
#pragma endscop
}
