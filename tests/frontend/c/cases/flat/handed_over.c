// n=5 m=3
static void scale(int count, double *row, double by) {
  for (int i = 0; i < count; i++)
    row[i] *= by;
}
static void add(int rows, int columns, double *to, const double *from) {
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < columns; j++)
      to[i * columns + j] += from[j * rows + i];
}
void handed_over(int n, int m, double *A, double *B) {
#pragma scop
  for (int i = 0; i < n; i++)
    scale(m, &A[i * m], 1.5);
  add(n, m, A, B);
  for (int i = 1; i < n; i++)
    scale(m - 1, A + i * m + 1, 0.5);
#pragma endscop
}
