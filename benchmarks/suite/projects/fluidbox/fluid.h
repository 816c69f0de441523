#pragma once
#include "config.h"

typedef struct fluid {
    int n;
    FLOAT diff, visc, dt;
    FLOAT *density, *density0;
    FLOAT *vx, *vy, *vx0, *vy0;
} Fluid;

#define IX(x, y) ((x) + (y) * N)
void fluid_diffuse(Fluid *f, int b, FLOAT *x, const FLOAT *x0, FLOAT rate);
void fluid_project(Fluid *f, FLOAT *p, FLOAT *div);
void fluid_advect(int N, FLOAT *d, const FLOAT *d0, const FLOAT *u, const FLOAT *v, FLOAT dt);
void set_edges(int b, FLOAT *x, int N);
