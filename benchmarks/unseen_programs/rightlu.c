/* LU by rows (ikj form), flat, with the diagonal made large first. */
void rightlu(int n, float *a)
{
  int i, j, k;
#pragma scop
  for (i = 0; i < n; i++)
    a[i * n + i] += n;
  for (i = 1; i < n; i++)
    for (k = 0; k < i; k++) {
      a[i * n + k] /= a[k * n + k];
      for (j = k + 1; j < n; j++)
        a[i * n + j] -= a[i * n + k] * a[k * n + j];
    }
#pragma endscop
}
