// n=4,k=5
// m[1] is the length of the rows, and k is m[1].
void rows_of_an_elements_size(int n, double *A, double *B) {
  int m[2] = {n, n + 1};
  int k = m[1];
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < k; j++)
      A[i * m[1] + j] = 2 * B[j * n + i] + m[1];
#pragma endscop
}
