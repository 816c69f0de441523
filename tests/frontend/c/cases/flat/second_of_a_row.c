// n=5 m=3
void second_of_a_row(int n, int m, double A[n * m]) {
#pragma scop
  for (int i = 0; i < n; i++)
    A[i * m + 1] = A[i * m] * 2;
#pragma endscop
}
