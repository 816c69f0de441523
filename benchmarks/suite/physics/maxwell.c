#include <stdio.h>
#include <stdlib.h>

typedef struct cavity {
    double *e, *bx, *by;
    double *loss, *gain;
    int m, n;
    int now, last;
} Cavity;

/* Accessors as such codes have them. */
#define ELEC(i, j)   g->e[(i) * g->n + (j)]
#define MAGX(i, j)   g->bx[(i) * (g->n - 1) + (j)]
#define MAGY(i, j)   g->by[(i) * g->n + (j)]
#define LOSS(i, j) g->loss[(i) * g->n + (j)]
#define GAIN(i, j) g->gain[(i) * g->n + (j)]

#define NEW_ARRAY(p, count, type) do { (p) = (type *)calloc((count), sizeof(type)); if (!(p)) { perror("alloc"); exit(1); } } while (0)

static void magnetic(Cavity *g)
{
    int i, j;
    /* nest: magnetic_x */
    for (i = 0; i < g->m; i++)
        for (j = 0; j < g->n - 1; j++)
            MAGX(i, j) = 0.99 * MAGX(i, j) - 0.5 * (ELEC(i, j + 1) - ELEC(i, j));
    /* nest: magnetic_y */
    for (i = 0; i < g->m - 1; i++)
        for (j = 0; j < g->n; j++)
            MAGY(i, j) = 0.99 * MAGY(i, j) + 0.5 * (ELEC(i + 1, j) - ELEC(i, j));
}

static void electric(Cavity *g)
{
    int i, j;
    /* nest: electric */
    for (i = 1; i < g->m - 1; i++)
        for (j = 1; j < g->n - 1; j++)
            ELEC(i, j) = LOSS(i, j) * ELEC(i, j)
                       + GAIN(i, j) * ((MAGY(i, j) - MAGY(i - 1, j)) - (MAGX(i, j) - MAGX(i, j - 1)));
}

int main(int argc, char **argv)
{
    Cavity *g;
    NEW_ARRAY(g, 1, Cavity);
    g->m = argc > 1 ? atoi(argv[1]) : 41;
    g->n = argc > 2 ? atoi(argv[2]) : 31;
    g->last = 30;
    NEW_ARRAY(g->e, g->m * g->n, double);
    NEW_ARRAY(g->bx, g->m * (g->n - 1), double);
    NEW_ARRAY(g->by, (g->m - 1) * g->n, double);
    NEW_ARRAY(g->loss, g->m * g->n, double);
    NEW_ARRAY(g->gain, g->m * g->n, double);
    for (int i = 0; i < g->m * g->n; i++) {
        g->loss[i] = 0.98;
        g->gain[i] = 0.5;
    }
    for (g->now = 0; g->now < g->last; g->now++) {
        magnetic(g);
        electric(g);
        ELEC(g->m / 2, g->n / 2) += 1.0 / (1 + g->now);
    }
    double s = 0;
    for (int i = 0; i < g->m * g->n; i++) s += g->e[i] * (i % 5);
    printf("maxwell %.8f\n", s);
    return 0;
}
