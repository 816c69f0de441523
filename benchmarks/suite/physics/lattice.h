#ifndef LATTICE_H
#define LATTICE_H
#define Q 5

typedef struct {
    int nx, ny;
    double tau;
    double *f;      /* ny * nx * Q */
    double *g;
    double *rho;
} lattice_t;

enum dir { REST, EAST, NORTH, WEST, SOUTH };
#endif
