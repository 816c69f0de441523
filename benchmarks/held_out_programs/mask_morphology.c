/* Opening of a mask: the least of a square window, then the greatest. Each is done along rows and
 * then along columns. Pixels beside the picture do not count.
 *
 *   mask_morphology [n m]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RADIUS 3
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

static void opening(int n, int m, unsigned char mask[n][m], unsigned char along[n][m],
                    unsigned char core[n][m])
{
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      along[i][j] = 255;
      for (int k = -RADIUS; k <= RADIUS; k++)
        if (j + k >= 0 && j + k < m)
          along[i][j] = MIN(along[i][j], mask[i][j + k]);
    }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      core[i][j] = 255;
      for (int k = -RADIUS; k <= RADIUS; k++)
        if (i + k >= 0 && i + k < n)
          core[i][j] = MIN(core[i][j], along[i + k][j]);
    }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      along[i][j] = 0;
      for (int k = -RADIUS; k <= RADIUS; k++)
        if (j + k >= 0 && j + k < m)
          along[i][j] = MAX(along[i][j], core[i][j + k]);
    }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      mask[i][j] = 0;
      for (int k = -RADIUS; k <= RADIUS; k++)
        if (i + k >= 0 && i + k < n)
          mask[i][j] = MAX(mask[i][j], along[i + k][j]);
    }
#pragma endscop
}

int main(int argc, char **argv)
{
  int n = argc > 1 ? atoi(argv[1]) : 36, m = argc > 2 ? atoi(argv[2]) : 44;
  unsigned char *mask = malloc((size_t)n * m), *along = malloc((size_t)n * m), *core = malloc((size_t)n * m);
  if (!mask || !along || !core)
    return 1;
  memset(core, 0, (size_t)n * m);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      mask[i * m + j] = (i / 9 + j / 11) % 2 ? 200 + (i * j) % 50 : (i * 7 + j) % 40;
  opening(n, m, (void *)mask, (void *)along, (void *)core);
  long sum = 0;
  for (int i = 0; i < n * m; i++)
    sum += mask[i] * (i % 3 + 1);
  printf("%ld\n", sum);
  free(mask);
  free(along);
  free(core);
  return 0;
}
