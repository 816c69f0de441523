// n=3 m=4
// Loops in loops over blocks, and a function that walks over all of an array.
static double total(int count, const double *x) {
  double sum = 0;
  for (int i = 0; i < count; i++)
    sum += x[i];
  return sum;
}
void sums_of_blocks(int n, int m, double *A, double *y) {
#pragma scop
  for (int b = 0; b < n; b++) {
    y[b] = total(m, A + b * m);
    for (int i = b * m; i < b * m + m; i++)
      for (int j = b * m; j <= i; j++)
        A[i] += A[j] * 0.25;
  }
  y[0] += total(n * m, A);
#pragma endscop
}
