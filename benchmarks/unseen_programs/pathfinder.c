/* Cheapest way down through a grid of costs, to one of three neighbours in every row. */
#define MIN(a, b) ((a) < (b) ? (a) : (b))
void pathfinder(int rows, int cols, const int wall[rows][cols], int src[cols], int dst[cols])
{
#pragma scop
  for (int j = 0; j < cols; j++)
    src[j] = wall[0][j];
  for (int t = 1; t < rows; t++) {
    for (int j = 0; j < cols; j++) {
      int best = src[j];
      if (j > 0)
        best = MIN(best, src[j - 1]);
      if (j < cols - 1)
        best = MIN(best, src[j + 1]);
      dst[j] = wall[t][j] + best;
    }
    for (int j = 0; j < cols; j++)
      src[j] = dst[j];
  }
#pragma endscop
}
