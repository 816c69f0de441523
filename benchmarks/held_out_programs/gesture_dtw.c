/* How alike two gestures are: dynamic time warping of three axes of acceleration, in a band around
 * the diagonal.
 *
 *   gesture_dtw [n band]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define AXES 3
#define FAR 1e30f

static float least(float a, float b, float c)
{
  float m = a;
  if (b < m)
    m = b;
  if (c < m)
    m = c;
  return m;
}

float warp(int n, int band, float a[n][AXES], float b[n][AXES], float cost[n + 1][n + 1])
{
#pragma scop
  for (int i = 0; i <= n; i++)
    for (int j = 0; j <= n; j++)
      cost[i][j] = FAR;
  cost[0][0] = 0.0f;
  for (int i = 1; i <= n; i++)
    for (int j = i - band > 1 ? i - band : 1; j <= (i + band < n ? i + band : n); j++) {
      float d = 0.0f;
      for (int x = 0; x < AXES; x++)
        d += fabsf(a[i - 1][x] - b[j - 1][x]);
      cost[i][j] = d + least(cost[i - 1][j], cost[i][j - 1], cost[i - 1][j - 1]);
    }
#pragma endscop
  return cost[n][n];
}

int main(int argc, char **argv)
{
  int n = argc > 1 ? atoi(argv[1]) : 40, band = argc > 2 ? atoi(argv[2]) : 8;
  float (*a)[AXES] = malloc(sizeof(float[n][AXES]));
  float (*b)[AXES] = malloc(sizeof(float[n][AXES]));
  float (*cost)[n + 1] = malloc(sizeof(float[n + 1][n + 1]));
  if (!a || !b || !cost)
    return 1;
  for (int i = 0; i < n; i++)
    for (int x = 0; x < AXES; x++) {
      a[i][x] = (float)((i * (x + 3)) % 19) * 0.125f;
      b[i][x] = (float)(((i + 2) * (x + 3)) % 19) * 0.125f;
    }
  printf("%.4f\n", (double)warp(n, band, a, b, cost));
  free(a);
  free(b);
  free(cost);
  return 0;
}
