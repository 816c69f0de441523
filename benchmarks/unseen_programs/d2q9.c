/* Lattice Boltzmann in two dimensions, nine directions, direction (a, b) going (a - 1, b - 1):
   density and momentum of what comes in from the neighbours, then relaxation to equilibrium. */
static const double wt[3] = {1.0 / 6.0, 2.0 / 3.0, 1.0 / 6.0};
#define GATHER f[t % 2][a][b][y - a + 1][x - b + 1]

void d2q9(int steps, int n, double f[2][3][3][n][n], double rho[n][n], double my[n][n], double mx[n][n],
          double omega)
{
#pragma scop
  for (int t = 0; t < steps; t++) {
    for (int y = 1; y < n - 1; y++)
      for (int x = 1; x < n - 1; x++) {
        rho[y][x] = my[y][x] = mx[y][x] = 0.0;
        for (int a = 0; a < 3; a++)
          for (int b = 0; b < 3; b++) {
            rho[y][x] += GATHER;
            my[y][x] += (a - 1) * GATHER;
            mx[y][x] += (b - 1) * GATHER;
          }
      }
    for (int a = 0; a < 3; a++)
      for (int b = 0; b < 3; b++)
        for (int y = 1; y < n - 1; y++)
          for (int x = 1; x < n - 1; x++)
            f[(t + 1) % 2][a][b][y][x] = GATHER + omega * 0.05 * (wt[a] * wt[b] * (rho[y][x]
                + 3.0 * ((a - 1) * my[y][x] + (b - 1) * mx[y][x])) - GATHER);
  }
#pragma endscop
}
