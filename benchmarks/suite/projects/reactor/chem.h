#ifndef REACTOR_CHEM_H
#define REACTOR_CHEM_H
#include "checks.h"

#define SPECIES 3
typedef struct { double k[SPECIES][SPECIES]; double diff[SPECIES]; } rates_t;
typedef struct field_s { int nx, ny; double *c[SPECIES]; double *tmp; } field_t;

extern const rates_t default_rates;
static inline int at(const field_t *f, int x, int y) { return y * f->nx + x; }
void react(field_t *f, const rates_t *r, double dt);
void spread(field_t *f, int s, double k);
double total(const field_t *f);
#endif
