/* Electrons on a ring: each adds its charge to two cells, the field follows from a sum along the
 * ring, and each is pushed by the field between its two cells.
 *
 *   plasma_pic [steps cells particles]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct electron {
  double x, v; /* x in cells */
};

static void simulate(int steps, int cells, int particles, struct electron *e, double *charge, double *field)
{
  const double dt = 0.05, mean = (double)particles / cells;
#pragma scop
  for (int t = 0; t < steps; t++) {
    for (int c = 0; c < cells; c++)
      charge[c] = mean;
    for (int p = 0; p < particles; p++) {
      int c = (int)e[p].x;
      double w = e[p].x - c;
      charge[c] -= 1.0 - w;
      charge[c + 1 == cells ? 0 : c + 1] -= w;
    }
    field[0] = 0.0;
    for (int c = 1; c < cells; c++)
      field[c] = field[c - 1] + 0.5 * (charge[c] + charge[c - 1]) / mean;
    for (int p = 0; p < particles; p++) {
      int c = (int)e[p].x;
      double w = e[p].x - c;
      double here = (1.0 - w) * field[c] + w * field[c + 1 == cells ? 0 : c + 1];
      e[p].v -= dt * here;
      e[p].x += dt * e[p].v;
      e[p].x -= cells * floor(e[p].x / cells);
      if (e[p].x >= cells)
        e[p].x = 0.0;
    }
  }
#pragma endscop
}

int main(int argc, char **argv)
{
  int steps = argc > 1 ? atoi(argv[1]) : 4;
  int cells = argc > 2 ? atoi(argv[2]) : 32;
  int particles = argc > 3 ? atoi(argv[3]) : 400;
  struct electron *e = malloc(sizeof *e * (size_t)particles);
  double *charge = malloc(sizeof *charge * (size_t)cells);
  double *field = malloc(sizeof *field * (size_t)cells);
  if (!e || !charge || !field)
    return 1;
  for (int p = 0; p < particles; p++) {
    e[p].x = (double)p / particles * cells;
    e[p].v = p % 2 ? 0.2 : -0.2;
  }
  simulate(steps, cells, particles, e, charge, field);
  double sum = 0.0;
  for (int p = 0; p < particles; p++)
    sum += e[p].v * (p % 5);
  printf("%.7f\n", sum);
  free(e);
  free(charge);
  free(field);
  return 0;
}
