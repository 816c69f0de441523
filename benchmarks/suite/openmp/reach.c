/* Breadth-first search: the work is where the data says. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Vertex { int first, degree; };

static int bfs(const struct Vertex *v, const int *edge, int n, int *cost)
{
    bool *front = calloc(n, 1), *next = calloc(n, 1), *seen = calloc(n, 1);
    bool again;
    int levels = 0;
    front[0] = seen[0] = true;
    cost[0] = 0;
    do {
        again = false;
        /* nest: frontier */
        #pragma omp parallel for
        for (int t = 0; t < n; t++) {
            if (front[t]) {
                front[t] = false;
                for (int e = v[t].first; e < v[t].first + v[t].degree; e++) {
                    int id = edge[e];
                    if (!seen[id]) {
                        cost[id] = cost[t] + 1;
                        next[id] = true;
                    }
                }
            }
        }
        /* nest: mask */
        for (int t = 0; t < n; t++) {
            if (next[t] == true) {
                front[t] = true;
                seen[t] = true;
                again = true;
                next[t] = false;
            }
        }
        levels++;
    } while (again);
    free(front), free(next), free(seen);
    return levels;
}

int main(void)
{
    enum { N = 200, D = 3 };
    struct Vertex v[N];
    int edge[N * D], cost[N];
    memset(cost, -1, sizeof cost);
    for (int i = 0; i < N; i++) {
        v[i].first = i * D;
        v[i].degree = D;
        for (int k = 0; k < D; k++) edge[i * D + k] = (i * (k + 2) + 7 * k + 1) % N;
    }
    int levels = bfs(v, edge, N, cost);
    long s = 0;
    for (int i = 0; i < N; i++) s += cost[i] * (i % 9);
    printf("reach %d %ld\n", levels, s);
    return 0;
}
