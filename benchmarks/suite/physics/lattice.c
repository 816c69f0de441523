/* Diffusion by five populations on a square lattice, array of structures of doubles in one block. */
#include "checks.h"
#include "lattice.h"

static const int ex[Q] = {0, 1, 0, -1, 0};
static const int ey[Q] = {0, 0, 1, 0, -1};
static const double wt[Q] = {1.0 / 3, 1.0 / 6, 1.0 / 6, 1.0 / 6, 1.0 / 6};

static void collide(lattice_t *l)
{
    const int n = l->nx * l->ny;
    double *f = l->f;
    double *rho = l->rho;
    /* nest: collide */
    for (int i = 0; i < n; i++) {
        double r = 0;
        for (int q = 0; q < Q; q++)
            r += f[i * Q + q];
        rho[i] = r;
        for (int q = 0; q < Q; q++)
            f[i * Q + q] -= (f[i * Q + q] - wt[q] * r) / l->tau;
    }
}

static void stream(lattice_t *l)
{
    const int nx = l->nx, ny = l->ny;
    /* nest: stream */
    for (int y = 1; y < ny - 1; y++)
        for (int x = 1; x < nx - 1; x++)
            for (int q = 0; q < Q; q++)
                l->g[(y * nx + x) * Q + q] = l->f[((y - ey[q]) * nx + x - ex[q]) * Q + q];
    double *t = l->f;
    l->f = l->g;
    l->g = t;
}

int main(int argc, char **argv)
{
    lattice_t l;
    l.nx = size_argument(argc, argv, 1, 40);
    l.ny = size_argument(argc, argv, 2, 30);
    l.tau = 0.8;
    size_t n = (size_t)l.nx * l.ny;
    l.f = calloc(n * Q, sizeof(double));
    l.g = calloc(n * Q, sizeof(double));
    l.rho = calloc(n, sizeof(double));
    for (size_t i = 0; i < n; i++) l.f[i * Q + REST] = (double)(i % 11);
    for (int t = 0; t < 10; t++) {
        collide(&l);
        stream(&l);
    }
    double s = 0;
    for (size_t i = 0; i < n; i++) s += l.rho[i] * (double)(i % 7);
    report("lattice", s);
    return 0;
}
