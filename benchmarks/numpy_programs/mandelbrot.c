/* Numbers of steps until points of the plane leave a circle. */
void mandelbrot(int n, int m, int steps, double x[n], double y[m], int count[n][m]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      double re = 0.0, im = 0.0;
      int inside = 0;
      for (int k = 0; k < steps; k++) {
        double rr = re * re, ii = im * im;
        if (rr + ii < 4.0) {
          im = 2.0 * re * im + y[j];
          re = rr - ii + x[i];
          inside += 1;
        }
      }
      count[i][j] = inside;
    }
#pragma endscop
}
