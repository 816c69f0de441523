/* Linear system A x = b by LU factorisation: A = L U in place,
   then L y = b by forward and U x = y by backward substitution.
   Most of x is small beside its first element, and fused multiply-adds would change the ninth digit
   of it: they are switched off. */

#pragma STDC FP_CONTRACT OFF

void init_ludcmp(int n, double A[n][n], double b[n], double x[n], double y[n])
{
#pragma scop
  for (int i = 0; i < n; i++) {
    x[i] = 0.0;
    y[i] = 0.0;
    b[i] = (i + 1) / (double)n / 2.0 + 4;
  }

  /* A lower triangular matrix L in A: l[i][j] = 1 - j / n below the diagonal, 1 on it. */
  for (int i = 0; i < n; i++) {
    for (int j = 0; j <= i; j++)
      A[i][j] = (double)(-j % n) / n + 1;
    for (int j = i + 1; j < n; j++)
      A[i][j] = 0.0;
    A[i][i] = 1.0;
  }

  /* Then A = L L^T, positive definite, without a second matrix: the half above the diagonal is
     summed where L has zeros, then the diagonal (the last term is 1), and L is overwritten last. */
  for (int i = 0; i < n; i++)
    for (int j = i + 1; j < n; j++)
      for (int k = 0; k <= i; k++)
        A[i][j] += A[i][k] * A[j][k];
  for (int i = 0; i < n; i++) {
    A[i][i] = 0.0;
    for (int k = 0; k < i; k++)
      A[i][i] += A[i][k] * A[i][k];
    A[i][i] += 1.0;
  }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++)
      A[i][j] = A[j][i];
#pragma endscop
}

void kernel_ludcmp(int n, double A[n][n], double b[n], double x[n], double y[n])
{
  double w;

#pragma scop
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < i; j++) {
      w = A[i][j];
      for (int k = 0; k < j; k++)
        w -= A[i][k] * A[k][j];
      A[i][j] = w / A[j][j];
    }
    for (int j = i; j < n; j++) {
      w = A[i][j];
      for (int k = 0; k < i; k++)
        w -= A[i][k] * A[k][j];
      A[i][j] = w;
    }
  }

  for (int i = 0; i < n; i++) {
    w = b[i];
    for (int j = 0; j < i; j++)
      w -= A[i][j] * y[j];
    y[i] = w;
  }

  for (int i = n - 1; i >= 0; i--) {
    w = y[i];
    for (int j = i + 1; j < n; j++)
      w -= A[i][j] * x[j];
    x[i] = w / A[i][i];
  }
#pragma endscop
}
