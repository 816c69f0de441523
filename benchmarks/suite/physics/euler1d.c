#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Gas in a tube: conserved quantities as a structure of arrays. */
struct gas {
    int cells;
    double *rho, *mom, *ene;
};

struct flux { double *f0, *f1, *f2; };

static double pressure(double r, double m, double e) { return 0.4 * (e - 0.5 * m * m / r); }

static void fluxes(struct gas *g, struct flux *fl)
{
    /* nest: rusanov */
    for (int i = 0; i + 1 < g->cells; i++) {
        double rl = g->rho[i], ml = g->mom[i], el = g->ene[i];
        double rr = g->rho[i + 1], mr = g->mom[i + 1], er = g->ene[i + 1];
        double pl = pressure(rl, ml, el), pr = pressure(rr, mr, er);
        double sl = fabs(ml / rl) + sqrt(1.4 * pl / rl), sr = fabs(mr / rr) + sqrt(1.4 * pr / rr);
        double s = sl > sr ? sl : sr;
        fl->f0[i] = 0.5 * (ml + mr) - 0.5 * s * (rr - rl);
        fl->f1[i] = 0.5 * (ml * ml / rl + pl + mr * mr / rr + pr) - 0.5 * s * (mr - ml);
        fl->f2[i] = 0.5 * ((el + pl) * ml / rl + (er + pr) * mr / rr) - 0.5 * s * (er - el);
    }
}

static void update(struct gas *g, const struct flux *fl, double k)
{
    int i, last = g->cells - 1;
    /* nest: update */
    for (i = 1; i < last; i++) {
        g->rho[i] -= k * (fl->f0[i] - fl->f0[i - 1]);
        g->mom[i] -= k * (fl->f1[i] - fl->f1[i - 1]);
        g->ene[i] -= k * (fl->f2[i] - fl->f2[i - 1]);
    }
}

static double *vec(int n) { return (double *)calloc(n, sizeof(double)); }

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 200;
    struct gas g = {n, vec(n), vec(n), vec(n)};
    struct flux fl = {vec(n), vec(n), vec(n)};
    for (int i = 0; i < n; i++) {
        g.rho[i] = i < n / 2 ? 1.0 : 0.125;
        g.ene[i] = i < n / 2 ? 2.5 : 0.25;
    }
    for (int t = 0; t < 60; t++) {
        fluxes(&g, &fl);
        update(&g, &fl, 0.3);
    }
    double s = 0;
    for (int i = 0; i < n; i++)
        s += g.rho[i] * i + g.ene[i];
    printf("euler1d %.6f\n", s);
    return 0;
}
