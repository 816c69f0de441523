// n=12
/* A list in the region fills the array each time: zeros where it says nothing, in rows or without
   inner braces, of constants or not, in a function that is put in, too. */
enum { WIDTH = 5 };
static double spread(const double *x, int i) {
  double bins[WIDTH] = {0};
  static const double weight[] = {0.5, 1.5, 2.5}, scale = 0.25;
  double most = 0;
  for (int k = 0; k < 3; k++)
    bins[(i + k) % WIDTH] += x[k] * weight[k] * scale;
  for (int k = 0; k < WIDTH; k++)
    most = bins[k] > most ? bins[k] : most;
  return most;
}
void f(int n, double x[n], short a[n][n], long y[n]) {
#pragma scop
  for (int i = 0; i < n / 4; i++)
    for (int j = 0; j < n / 4; j++) {
      short s[4][4] = {{0}}, t[2][3] = {{1, i}, {j - 7}}, u[2][2] = {3, 4, i};
      int v[4] = {[2] = 300 * i, 5}, w[2][2] = {0};
      static const char text[6] = "ab";
      static const long seven = 7;
      long sum = seven;
      for (int p = 0; p < 4; p++)
        for (int q = 0; q < 4; q++) {
          s[q][p] += a[4 * i + p][4 * j + q] * 300;
          sum += s[q][p] * (p + 1) - s[p][q] + v[p] + text[(p + q) % 6];
        }
      for (int p = 0; p < 2; p++)
        for (int q = 0; q < 2; q++) {
          w[p][q] -= t[p][q] * 2 + t[p][q + 1] * u[q][p];
          sum += w[p][q] * (q + 3);
        }
      y[i] += sum + i;
      y[j + 6] -= sum * j;
    }
  for (int i = 3; i < n; i++)
    x[i] = spread(x, i);
#pragma endscop
}
