/* Lattice Boltzmann D2Q9, written out: gather from neighbours, relax to equilibrium (arrays of structures). */
#include <assert.h>
#define N 400
void d2q9u(int steps, int n, double f[2][N][N][9], double omega)
{
  assert(n <= 400);
#pragma scop
  for (int t = 0; t < steps; t++)
    for (int y = 1; y < n - 1; y++)
      for (int x = 1; x < n - 1; x++) {
        double f0 = f[t % 2][y][x][0];
        double f1 = f[t % 2][y][x - 1][1];
        double f2 = f[t % 2][y - 1][x][2];
        double f3 = f[t % 2][y][x + 1][3];
        double f4 = f[t % 2][y + 1][x][4];
        double f5 = f[t % 2][y - 1][x - 1][5];
        double f6 = f[t % 2][y - 1][x + 1][6];
        double f7 = f[t % 2][y + 1][x + 1][7];
        double f8 = f[t % 2][y + 1][x - 1][8];
        double rho = f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8 + 0.1;
        double ux = (f1 + f5 + f8 - f3 - f6 - f7) / rho;
        double uy = (f2 + f5 + f6 - f4 - f7 - f8) / rho;
        double u2 = 1.0 - 1.5 * (ux * ux + uy * uy);
        f[(t + 1) % 2][y][x][0] = f0 + omega * (rho * 4.0 / 9.0 * u2 - f0);
        f[(t + 1) % 2][y][x][1] = f1 + omega * (rho / 9.0 * (u2 + 3.0 * ux + 4.5 * ux * ux) - f1);
        f[(t + 1) % 2][y][x][2] = f2 + omega * (rho / 9.0 * (u2 + 3.0 * uy + 4.5 * uy * uy) - f2);
        f[(t + 1) % 2][y][x][3] = f3 + omega * (rho / 9.0 * (u2 - 3.0 * ux + 4.5 * ux * ux) - f3);
        f[(t + 1) % 2][y][x][4] = f4 + omega * (rho / 9.0 * (u2 - 3.0 * uy + 4.5 * uy * uy) - f4);
        f[(t + 1) % 2][y][x][5] = f5 + omega * (rho / 36.0 * (u2 + 3.0 * (ux + uy) + 4.5 * (ux + uy) * (ux + uy)) - f5);
        f[(t + 1) % 2][y][x][6] = f6 + omega * (rho / 36.0 * (u2 + 3.0 * (uy - ux) + 4.5 * (uy - ux) * (uy - ux)) - f6);
        f[(t + 1) % 2][y][x][7] = f7 + omega * (rho / 36.0 * (u2 - 3.0 * (ux + uy) + 4.5 * (ux + uy) * (ux + uy)) - f7);
        f[(t + 1) % 2][y][x][8] = f8 + omega * (rho / 36.0 * (u2 + 3.0 * (ux - uy) + 4.5 * (ux - uy) * (ux - uy)) - f8);
      }
#pragma endscop
}
