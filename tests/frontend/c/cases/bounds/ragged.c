// m=6
// No bound beside the data: the array says how far rows go.
void ragged(int m, double A[5][m + 1], double s[5]) {
  int length[5] = {0, 6, 3, 1, 5};
#pragma scop
  for (int i = 0; i < 5; i++)
    for (int j = 0; j < length[i]; j += 2)
      s[i] += A[i][j + 1] * j;
#pragma endscop
}
