/* Shallow water on fixed arrays; the domain is a part of them. */
#include <stdio.h>
#include <stdlib.h>

#define NMAX 130

static double h[NMAX][NMAX], u[NMAX][NMAX], v[NMAX][NMAX], hn[NMAX][NMAX];

static void momentum(int nx, int ny, double dt, double g)
{
    int i, j;
    /* nest: momentum */
    for (i = 1; i < nx; i++)
        for (j = 1; j < ny; j++) {
            u[i][j] = u[i][j] - dt * g * (h[i][j] - h[i - 1][j]);
            v[i][j] = v[i][j] - dt * g * (h[i][j] - h[i][j - 1]);
        }
}

static void height(int nx, int ny, double dt)
{
    /* nest: height */
    for (int i = 0; i < nx - 1; i++)
        for (int j = 0; j < ny - 1; j++)
            hn[i][j] = h[i][j] - dt * (u[i + 1][j] - u[i][j] + v[i][j + 1] - v[i][j]);
    for (int i = 0; i < nx - 1; i++)
        for (int j = 0; j < ny - 1; j++)
            h[i][j] = hn[i][j];
}

int main(int argc, char **argv)
{
    int nx = argc > 1 ? atoi(argv[1]) : 60;
    int ny = argc > 2 ? atoi(argv[2]) : 50;
    if (nx > NMAX || ny > NMAX) {
        fprintf(stderr, "at most %d\n", NMAX);
        return EXIT_FAILURE;
    }
    /* nest: fill */
    for (int i = 0; i < nx; i++)
        for (int j = 0; j < ny; j++)
            h[i][j] = 10 + ((i - 20) * (i - 20) + (j - 20) * (j - 20) < 50 ? 1 : 0);
    for (int t = 0; t < 25; t++) {
        momentum(nx, ny, 0.01, 9.81);
        height(nx, ny, 0.01);
    }
    double s = 0;
    for (int i = 0; i < nx; i++)
        for (int j = 0; j < ny; j++)
            s += h[i][j] * (i + 2 * j);
    printf("shallow %.8g\n", s);
    return EXIT_SUCCESS;
}
