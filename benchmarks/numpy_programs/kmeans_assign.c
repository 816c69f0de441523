/* The nearest of some centres for each point. */
void kmeans_assign(int n, int k, int d, double x[n][d], double c[k][d], int nearest[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    double least = 1e300;
    int place = 0;
    for (int j = 0; j < k; j++) {
      double sum = 0.0;
      for (int l = 0; l < d; l++)
        sum += (x[i][l] - c[j][l]) * (x[i][l] - c[j][l]);
      if (sum < least) {
        least = sum;
        place = j;
      }
    }
    nearest[i] = place;
  }
#pragma endscop
}
