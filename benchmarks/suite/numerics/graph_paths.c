#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#define INF (INT_MAX / 2)

/* All shortest paths, and the most reliable ones. */
static void paths(int *d, int n)
{
    /* nest: shortest */
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                int via = d[i * n + k] + d[k * n + j];
                if (via < d[i * n + j])
                    d[i * n + j] = via;
            }
}

static void closure(unsigned char **r, int n)
{
    /* nest: closure */
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            if (r[i][k])
                for (int j = 0; j < n; j++)
                    r[i][j] |= r[k][j];
}

static void rank_pages(int n, const int *out, unsigned char **r, double *rank, double *next)
{
    /* nest: pagerank */
    for (int i = 0; i < n; i++) {
        double s = 0;
        for (int j = 0; j < n; j++)
            if (r[j][i])
                s += rank[j] / out[j];
        next[i] = 0.15 / n + 0.85 * s;
    }
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 32;
    int *d = malloc(sizeof(int) * n * n), *out = calloc(n, sizeof(int));
    unsigned char **r = malloc(n * sizeof *r);
    double *rank = malloc(n * sizeof *rank), *next = malloc(n * sizeof(double));
    for (int i = 0; i < n; i++) {
        r[i] = calloc(n, 1);
        for (int j = 0; j < n; j++) {
            int w = (i * 7 + j * 13) % 29;
            d[i * n + j] = i == j ? 0 : w < 9 ? w + 1 : INF;
            r[i][j] = w < 3;
            out[i] += w < 3;
        }
        rank[i] = 1.0 / n;
        if (!out[i]) out[i] = 1;
    }
    rank_pages(n, out, r, rank, next);
    paths(d, n);
    closure(r, n);
    double s = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            s += (d[i * n + j] < INF ? d[i * n + j] : 100) + r[i][j] * (i - j) + next[i];
    printf("graph_paths %.6f\n", s);
    return 0;
}
