/* Contrast of a 12-bit X-ray scan: count the values, add the counts up, look every pixel up.
 *
 *   scan_equalize [rows cols]
 */
#include <stdio.h>
#include <stdlib.h>

enum { LEVELS = 4096 };

void equalize(int rows, int cols, const unsigned short *scan, int histogram[LEVELS],
              float curve[LEVELS], float *result)
{
#pragma scop
  for (int v = 0; v < LEVELS; v++)
    histogram[v] = 0;
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < cols; j++)
      histogram[scan[i * cols + j]]++;
  int below = 0;
  for (int v = 0; v < LEVELS; v++) {
    below += histogram[v];
    curve[v] = (float)below / (float)(rows * cols);
  }
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < cols; j++)
      result[i * cols + j] = curve[scan[i * cols + j]];
#pragma endscop
}

int main(int argc, char **argv)
{
  int rows = argc > 1 ? atoi(argv[1]) : 30, cols = argc > 2 ? atoi(argv[2]) : 40;
  int n = rows * cols;
  unsigned short *scan = calloc((size_t)n, sizeof *scan);
  float *result = malloc(sizeof *result * (size_t)n);
  static int histogram[LEVELS];
  static float curve[LEVELS];
  if (!scan || !result)
    return 1;
  unsigned seed = 12345;
  for (int i = 0; i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    scan[i] = (unsigned short)(((seed >> 20) + (seed >> 9) % 4096) / 2);
  }
  equalize(rows, cols, scan, histogram, curve, result);
  double sum = 0;
  for (int i = 0; i < n; i++)
    sum += result[i] * (i % 5 + 1);
  printf("%.6f\n", sum);
  free(scan);
  free(result);
  return 0;
}
