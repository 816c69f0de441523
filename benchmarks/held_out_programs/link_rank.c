/* Importance of pages by their links: repeated products with a sparse matrix, of which there are
 * lists of who links here. The lists of all pages lie one behind the other.
 *
 *   link_rank [pages rounds]
 */
#include <stdio.h>
#include <stdlib.h>

typedef struct {
  int pages, links;
  int *start;     /* pages + 1 */
  int *source;    /* links */
  double *weight; /* pages: one over the number of links that leave */
} graph_t;

static double round_of(const graph_t *g, const double *rank, double *next, double damping)
{
  double change = 0.0;
  for (int p = 0; p < g->pages; p++) {
    double sum = 0.0;
    for (int e = g->start[p]; e < g->start[p + 1]; ++e)
      sum += rank[g->source[e]] * g->weight[g->source[e]];
    next[p] = (1.0 - damping) / g->pages + damping * sum;
    change += next[p] > rank[p] ? next[p] - rank[p] : rank[p] - next[p];
  }
  return change;
}

int main(int argc, char **argv)
{
  graph_t g = {.pages = argc > 1 ? atoi(argv[1]) : 60};
  int rounds = argc > 2 ? atoi(argv[2]) : 5;
  g.start = malloc(sizeof(int) * ((size_t)g.pages + 1));
  g.weight = calloc((size_t)g.pages, sizeof(double));
  double *rank = malloc(sizeof(double) * (size_t)g.pages);
  double *next = malloc(sizeof(double) * (size_t)g.pages);
  if (!g.start || !g.weight || !rank || !next)
    return 1;
  g.start[0] = 0;
  for (int p = 0; p < g.pages; p++)
    g.start[p + 1] = g.start[p] + 2 + (p * 7) % 15;
  g.links = g.start[g.pages];
  g.source = malloc(sizeof(int) * (size_t)g.links);
  if (!g.source)
    return 1;
  unsigned state = 99;
  for (int e = 0; e < g.links; e++) {
    state = state * 1664525u + 1013904223u;
    g.source[e] = (int)((state >> 8) % (unsigned)g.pages);
    g.weight[g.source[e]] += 1.0;
  }
  for (int p = 0; p < g.pages; p++) {
    g.weight[p] = g.weight[p] > 0.0 ? 1.0 / g.weight[p] : 0.0;
    rank[p] = 1.0 / g.pages;
  }
  double change = 0.0;
  for (int r = 0; r < rounds; r++) {
    change = round_of(&g, rank, next, 0.85);
    double *swap = rank;
    rank = next;
    next = swap;
  }
  printf("%.9f %.9f\n", rank[0], change);
  free(g.start);
  free(g.source);
  free(g.weight);
  free(rank);
  free(next);
  return 0;
}
