/* Waves in a closed basin of uneven depth: linear shallow water on a staggered grid. Heights are in
 * the middle of cells, speeds on their sides.
 *
 *   basin_waves [steps ny nx]
 */
#include <stdio.h>
#include <stdlib.h>

struct basin {
  int nx, ny;
  double dt, dx, gravity;
  double *height; /* ny x nx */
  double *depth;  /* ny x nx */
  double *east;   /* ny x (nx + 1) */
  double *north;  /* (ny + 1) x nx */
};

static double *field(int rows, int cols)
{
  return calloc((size_t)rows * (size_t)cols, sizeof(double));
}

void advance(struct basin *b, int steps)
{
  const int nx = b->nx, ny = b->ny;
  const double c = b->dt / b->dx;
  double *eta = b->height, *depth = b->depth, *u = b->east, *v = b->north;

  for (int t = 0; t < steps; t++) {
    for (int j = 0; j < ny; j++)
      for (int i = 1; i < nx; i++)
        u[j * (nx + 1) + i] -= b->gravity * c * (eta[j * nx + i] - eta[j * nx + i - 1]);
    for (int j = 1; j < ny; j++)
      for (int i = 0; i < nx; i++)
        v[j * nx + i] -= b->gravity * c * (eta[j * nx + i] - eta[(j - 1) * nx + i]);
    for (int j = 0; j < ny; j++)
      for (int i = 0; i < nx; i++) {
        double flux = u[j * (nx + 1) + i + 1] - u[j * (nx + 1) + i] + v[(j + 1) * nx + i] - v[j * nx + i];
        eta[j * nx + i] -= c * depth[j * nx + i] * flux;
      }
  }
}

int main(int argc, char **argv)
{
  int steps = argc > 1 ? atoi(argv[1]) : 10;
  struct basin b = {.ny = argc > 2 ? atoi(argv[2]) : 30, .nx = argc > 3 ? atoi(argv[3]) : 34,
                    .dt = 0.02, .dx = 1.0, .gravity = 9.81};
  b.height = field(b.ny, b.nx);
  b.depth = field(b.ny, b.nx);
  b.east = field(b.ny, b.nx + 1);
  b.north = field(b.ny + 1, b.nx);
  if (!b.height || !b.depth || !b.east || !b.north)
    return 1;
  for (int j = 0; j < b.ny; j++)
    for (int i = 0; i < b.nx; i++) {
      b.depth[j * b.nx + i] = 4.0 + (i + 2 * j) % 7 * 0.25;
      b.height[j * b.nx + i] = i < b.nx / 3 && j < b.ny / 3 ? 0.5 : 0.0;
    }
  advance(&b, steps);
  double sum = 0;
  for (int k = 0; k < b.nx * b.ny; k++)
    sum += b.height[k] * (k % 11);
  printf("%.9f\n", sum);
  free(b.height);
  free(b.depth);
  free(b.east);
  free(b.north);
  return 0;
}
