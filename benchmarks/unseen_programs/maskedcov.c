/* Means of columns over valid entries, and covariances of the columns over rows where both are. */
void maskedcov(int rows, int cols, const double x[rows][cols], const int valid[rows][cols],
               double mean[cols], double cov[cols][cols])
{
  double sum, count;
#pragma scop
  for (int j = 0; j < cols; j++) {
    sum = 0.0;
    count = 0.0;
    for (int i = 0; i < rows; i++)
      if (valid[i][j] % 4 != 0) {
        sum += x[i][j];
        count += 1.0;
      }
    mean[j] = sum / (count + 1e-9);
  }
  for (int j = 0; j < cols; j++)
    for (int k = j; k < cols; k++) {
      cov[j][k] = 0.0;
      for (int i = 0; i < rows; i++)
        if (valid[i][j] % 4 != 0 && valid[i][k] % 4 != 0)
          cov[j][k] += (x[i][j] - mean[j]) * (x[i][k] - mean[k]);
      cov[k][j] = cov[j][k];
    }
#pragma endscop
}
