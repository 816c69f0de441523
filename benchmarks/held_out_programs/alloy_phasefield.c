/* An alloy comes apart: Cahn-Hilliard on a torus. The chemical potential is made in one sweep, the
 * concentration moves along it in the next. The grid is the program's: cc -DNX=512 -DNY=512.
 *
 *   alloy_phasefield
 */
#include <stdio.h>

#ifndef NX
#define NX 32
#endif
#ifndef NY
#define NY 40
#endif
#ifndef STEPS
#define STEPS 8
#endif

#define EAST(j) ((j) == NY - 1 ? 0 : (j) + 1)
#define WEST(j) ((j) == 0 ? NY - 1 : (j) - 1)
#define SOUTH(i) ((i) == NX - 1 ? 0 : (i) + 1)
#define NORTH(i) ((i) == 0 ? NX - 1 : (i) - 1)

static double c[NX][NY];
static double mu[NX][NY];

static void evolve(void)
{
  const double kappa = 0.5, dt = 0.01;
  int t, i, j;
  for (t = 0; t < STEPS; t++) {
    for (i = 0; i < NX; i++)
      for (j = 0; j < NY; j++)
        mu[i][j] = c[i][j] * c[i][j] * c[i][j] - c[i][j]
                   - kappa * (c[NORTH(i)][j] + c[SOUTH(i)][j] + c[i][WEST(j)] + c[i][EAST(j)]
                              - 4.0 * c[i][j]);
    for (i = 0; i < NX; i++)
      for (j = 0; j < NY; j++)
        c[i][j] += dt * (mu[NORTH(i)][j] + mu[SOUTH(i)][j] + mu[i][WEST(j)] + mu[i][EAST(j)]
                         - 4.0 * mu[i][j]);
  }
}

int main(void)
{
  double sum = 0.0;
  for (int i = 0; i < NX; i++)
    for (int j = 0; j < NY; j++)
      c[i][j] = 0.02 * ((i * 29 + j * 17 + i * j) % 13 - 6);
  evolve();
  for (int i = 0; i < NX; i++)
    for (int j = 0; j < NY; j++)
      sum += c[i][j] * (1 + (i + 2 * j) % 4);
  printf("%.9f\n", sum);
  return 0;
}
