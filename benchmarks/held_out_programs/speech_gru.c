/* One layer of gated recurrent units over the frames of an utterance. What a frame leaves is the
 * input of the next.
 *
 *   speech_gru [frames inputs units]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "gru_weights.h"

static void run_layer(const gru_layer *g, int frames, const float *x, float *h, float *z, float *rh, float *c)
{
  for (int t = 0; t < frames; t++) {
    for (int i = 0; i < g->units; i++) {
      float sz = g->bz[i], sr = g->br[i];
      for (int j = 0; j < g->inputs; j++) {
        sz += g->wz[i * g->inputs + j] * x[t * g->inputs + j];
        sr += g->wr[i * g->inputs + j] * x[t * g->inputs + j];
      }
      for (int j = 0; j < g->units; j++) {
        sz += g->uz[i * g->units + j] * h[j];
        sr += g->ur[i * g->units + j] * h[j];
      }
      z[i] = sigmoid(sz);
      rh[i] = sigmoid(sr) * h[i];
    }
    for (int i = 0; i < g->units; i++) {
      float s = g->bh[i];
      for (int j = 0; j < g->inputs; j++)
        s += g->wh[i * g->inputs + j] * x[t * g->inputs + j];
      for (int j = 0; j < g->units; j++)
        s += g->uh[i * g->units + j] * rh[j];
      c[i] = tanhf(s);
    }
    for (int i = 0; i < g->units; i++)
      h[i] = (1.0f - z[i]) * h[i] + z[i] * c[i];
  }
}

static float *numbers(int count, int step)
{
  float *p = malloc(sizeof(float) * (size_t)count);
  if (!p)
    exit(1);
  for (int i = 0; i < count; i++)
    p[i] = (float)((i * step) % 61 - 30) * 0.004f;
  return p;
}

int main(int argc, char **argv)
{
  int frames = argc > 1 ? atoi(argv[1]) : 5;
  int inputs = argc > 2 ? atoi(argv[2]) : 12, units = argc > 3 ? atoi(argv[3]) : 16;
  gru_layer g = {inputs, units,
                 numbers(units * inputs, 7), numbers(units * inputs, 11), numbers(units * inputs, 13),
                 numbers(units * units, 17), numbers(units * units, 19), numbers(units * units, 23),
                 numbers(units, 29), numbers(units, 31), numbers(units, 37)};
  float *x = numbers(frames * inputs, 41), *h = numbers(units, 43);
  float *z = numbers(units, 1), *rh = numbers(units, 1), *c = numbers(units, 1);
  run_layer(&g, frames, x, h, z, rh, c);
  double sum = 0;
  for (int i = 0; i < units; i++)
    sum += (double)h[i] * (i + 1);
  printf("%.4f\n", sum);
  float *all[] = {g.wz, g.wr, g.wh, g.uz, g.ur, g.uh, g.bz, g.br, g.bh, x, h, z, rh, c};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    free(all[i]);
  return 0;
}
