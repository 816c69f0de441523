#include "chem.h"

const rates_t default_rates = {{{-0.5, 0.2, 0.1}, {0.4, -0.3, 0.1}, {0.1, 0.1, -0.2}}, {0.1, 0.05, 0.2}};

void react(field_t *f, const rates_t *r, double dt)
{
    int n = f->nx * f->ny, i, s, q;
    /* nest: react */
    for (i = 0; i < n; i++) {
        double old[SPECIES];
        for (s = 0; s < SPECIES; s++)
            old[s] = f->c[s][i];
        for (s = 0; s < SPECIES; s++) {
            double d = 0;
            for (q = 0; q < SPECIES; q++)
                d += r->k[s][q] * old[q];
            f->c[s][i] = old[s] + dt * d;
        }
    }
}
