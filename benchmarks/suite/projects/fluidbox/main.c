#include <stdio.h>
#include <stdlib.h>
#include "fluid.h"

int main(int argc, char **argv)
{
    Fluid box = {argc > 1 ? atoi(argv[1]) : 26, 0.001, 0.0001, 0.1};
    int N = box.n, cells = N * N;
    FLOAT **all[] = {&box.density, &box.density0, &box.vx, &box.vy, &box.vx0, &box.vy0};
    for (int k = 0; k < 6; k++)
        *all[k] = calloc(cells, sizeof(FLOAT));
    for (int i = 0; i < cells; i++) {
        box.density0[i] = i % 7;
        box.vx[i] = (i % 5 - 2) * 0.3;
        box.vy[i] = (i % 3 - 1) * 0.2;
    }
    for (int t = 0; t < 4; t++) {
        fluid_diffuse(&box, 0, box.density, box.density0, box.diff);
        fluid_advect(N, box.density0, box.density, box.vx, box.vy, box.dt);
        fluid_project(&box, box.vx0, box.vy0);
    }
    double s = 0;
    for (int i = 0; i < cells; i++)
        s += box.density0[i] * (i % 4) + box.vx[i];
    printf("fluidbox %.6f\n", s);
    return 0;
}
