#include "chem.h"

void spread(field_t *f, int s, double k)
{
    double *c = f->c[s], *t = f->tmp;
    int x, y;
    /* nest: spread */
    for (y = 1; y < f->ny - 1; y++)
        for (x = 1; x < f->nx - 1; x++)
            t[at(f, x, y)] = c[at(f, x, y)] + k * (c[at(f, x - 1, y)] + c[at(f, x + 1, y)]
                             + c[at(f, x, y - 1)] + c[at(f, x, y + 1)] - 4 * c[at(f, x, y)]);
    /* nest: back */
    for (y = 1; y < f->ny - 1; y++)
        for (x = 1; x < f->nx - 1; x++)
            c[at(f, x, y)] = t[at(f, x, y)];
}

double total(const field_t *f)
{
    double sum = 0;
    /* nest: total */
    for (int s = 0; s < SPECIES; s++)
        for (int i = 0; i < f->nx * f->ny; i++)
            sum += f->c[s][i] * (s + 1);
    return sum;
}
