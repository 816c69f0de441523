#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NC 16
typedef struct { float x[4096], v[4096], q[4096]; int n; } species_t;

static species_t ions;
static float field[NC + 1], charge[NC + 1];

/* Particle in cell: scatter the charge, solve, gather the field. */
static void deposit(const species_t *s)
{
    memset(charge, 0, sizeof charge);
    /* nest: deposit */
    for (int p = 0; p < s->n; p++) {
        int c = (int)s->x[p];
        float w = s->x[p] - c;
        charge[c] += s->q[p] * (1 - w);
        charge[c + 1] += s->q[p] * w;
    }
}

static void solve(void)
{
    field[0] = 0;
    /* nest: solve */
    for (int c = 1; c <= NC; c++)
        field[c] = field[c - 1] + 0.5f * (charge[c] + charge[c - 1]) - 1.0f;
}

static void push(species_t *s, float dt)
{
    /* nest: push */
    for (int p = 0; p < s->n; p++) {
        int c = (int)s->x[p];
        s->v[p] += dt * field[c];
        s->x[p] += dt * s->v[p];
        if (s->x[p] < 0) s->x[p] += NC;
        if (s->x[p] >= NC) s->x[p] -= NC;
    }
}

int main(void)
{
    ions.n = 500;
    for (int p = 0; p < ions.n; p++) {
        ions.x[p] = (float)(p * 13 % 1600) / 100;
        ions.v[p] = 0.01f * (p % 5 - 2);
        ions.q[p] = 1.0f * NC / 500;
    }
    for (int t = 0; t < 8; t++) {
        deposit(&ions);
        solve();
        push(&ions, 0.02f);
    }
    double s = 0;
    for (int p = 0; p < ions.n; p++) s += ions.x[p];
    printf("particles_cells %.3f\n", s);
    return 0;
}
