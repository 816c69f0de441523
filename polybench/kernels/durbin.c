/* Durbin's recursion for a symmetric Toeplitz system: T y = -r, where T has ones on its diagonal
   and r[0], r[1], ... beside it. Step k extends the solution of order k to order k + 1.
   The recursion amplifies rounding errors: with fused multiply-adds the ninth digit would differ. */

#pragma STDC FP_CONTRACT OFF

void init_durbin(int n, double r[n])
{
#pragma scop
  for (int i = 0; i < n; i++)
    r[i] = (n + 1 - i);
#pragma endscop
}

void kernel_durbin(int n, double r[n], double y[n])
{
  double z[n];
  double alpha;
  double beta;
  double sum;

#pragma scop
  y[0] = -r[0];
  beta = 1.0;
  alpha = -r[0];

  for (int k = 1; k < n; k++) {
    beta = (1 - alpha * alpha) * beta;
    sum = 0.0;
    for (int i = 0; i < k; i++)
      sum += r[k - i - 1] * y[i];
    alpha = -(r[k] + sum) / beta;

    for (int i = 0; i < k; i++)
      z[i] = y[i] + alpha * y[k - i - 1];
    for (int i = 0; i < k; i++)
      y[i] = z[i];
    y[k] = alpha;
  }
#pragma endscop
}
