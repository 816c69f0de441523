#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#ifdef _OPENMP
#include <omp.h>
#endif


/* Temperature of a chip from its power, rows shared between threads. */
static void relax(float *result, const float *temp, const float *power, int row, int col,
                     float cap, float rx, float ry, float rz, float amb)
{
    int r, c;
    /* nest: plate */
    #pragma omp parallel for private(r, c) schedule(static)
    for (r = 1; r < row - 1; r++) {
        for (c = 1; c < col - 1; c++) {
            float delta = cap * (power[r * col + c]
                + (temp[(r + 1) * col + c] + temp[(r - 1) * col + c] - 2.f * temp[r * col + c]) * ry
                + (temp[r * col + c + 1] + temp[r * col + c - 1] - 2.f * temp[r * col + c]) * rx
                + (amb - temp[r * col + c]) * rz);
            result[r * col + c] = temp[r * col + c] + delta;
        }
    }
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 64, i, t;
    int steps = 10;
    float *temp = malloc(n * n * sizeof(float)), *power = malloc(n * n * sizeof(float)), *res = malloc(n * n * sizeof(float));
    for (i = 0; i < n * n; i++) {
        temp[i] = res[i] = 320.f + i % 9;
        power[i] = (i % 31) * 0.01f;
    }
    for (t = 0; t < steps; t++) {
        relax(res, temp, power, n, n, 0.1f, 1.f, 1.f, 0.3f, 300.f);
        float *tmp = temp; temp = res; res = tmp;
    }
    double s = 0;
    #pragma omp parallel for reduction(+:s)
    for (i = 0; i < n * n; i++)
        s += temp[i];
    printf("hotplate %.2f\n", s);
    return 0;
}
