/* Repulsion of particles whose neighbours are in a table of fixed width. */
#include <math.h>
#include "checks.h"
#define PARTICLES 300
#define NEAR 12

static void push(const float px[PARTICLES], const float py[PARTICLES],
                 short near[PARTICLES][NEAR], float ax[PARTICLES], float ay[PARTICLES])
{
  /* nest: table */
  PARTICLE: for (int p = 0; p < PARTICLES; p++) {
    float sx = 0, sy = 0;
    NEIGHBOUR: for (int k = 0; k < NEAR; k++) {
      int q = near[p][k];
      float dx = px[p] - px[q], dy = py[p] - py[q];
      float d2 = dx * dx + dy * dy + 0.02f;
      float w = 1.0f / (d2 * d2);
      sx += w * dx;
      sy += w * dy;
    }
    ax[p] = sx;
    ay[p] = sy;
  }
}

int main()
{
  static float px[PARTICLES], py[PARTICLES], ax[PARTICLES], ay[PARTICLES];
  static short near[PARTICLES][NEAR];
  double sum = 0;
  for (int i = 0; i < PARTICLES; i++) {
    px[i] = (float)(i % 20) + 0.25f * (float)(i % 7);
    py[i] = (float)(i / 20) - 0.125f * (float)(i % 5);
    for (int k = 0; k < NEAR; k++) near[i][k] = (short)((i + 1 + 5 * k) % PARTICLES);
  }
  push(px, py, near, ax, ay);
  for (int i = 0; i < PARTICLES; i++) sum += ax[i] + 2 * ay[i];
  report("pair_forces", sum);
  return 0;
}
