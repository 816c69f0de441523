/* The most valuable cargo of a lorry: every good is taken or left. One row of the table is enough
 * where capacities are looked at from the greatest down.
 *
 *   cargo_knapsack [goods capacity]
 */
#include <stdio.h>
#include <stdlib.h>

static void fill(int *best, const int *weight, const int *value, int goods, int capacity)
{
  for (int c = 0; c <= capacity; c++)
    best[c] = 0;
  for (int g = 0; g < goods; g++) {
    int w = weight[g];
    int v = value[g];
    for (int c = capacity; c >= w; c--)
      if (best[c - w] + v > best[c])
        best[c] = best[c - w] + v;
  }
}

int main(int argc, char **argv)
{
  int goods = argc > 1 ? atoi(argv[1]) : 25;
  int capacity = argc > 2 ? atoi(argv[2]) : 200;
  int *weight = malloc(sizeof(int) * (size_t)goods);
  int *value = malloc(sizeof(int) * (size_t)goods);
  int *best = malloc(sizeof(int) * ((size_t)capacity + 1));
  if (!weight || !value || !best)
    return 1;
  for (int g = 0; g < goods; g++) {
    weight[g] = 3 + (g * 31) % 57;
    value[g] = 10 + (g * 47) % 83;
  }
  fill(best, weight, value, goods, capacity);
  long sum = 0;
  for (int c = 0; c <= capacity; c++)
    sum += best[c];
  printf("%d %ld\n", best[capacity], sum);
  free(weight);
  free(value);
  free(best);
  return 0;
}
