/* General linear recurrence: every w[i] of all before it. Many systems side by side, innermost outermost. */
void linrec(int n, int systems, double w[n][systems], double b[n][n])
{
#pragma scop
  for (int s = 0; s < systems; s++)
    for (int i = 1; i < n; i++) {
      w[i][s] = 0.01 * w[i][s];
      for (int k = 0; k < i; k++)
        w[i][s] += 0.001 * b[k][i] * w[i - k - 1][s];
    }
#pragma endscop
}
