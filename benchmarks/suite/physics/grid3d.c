/* A field in three dimensions as pointers to pointers to rows over one block. */
#include <stdio.h>
#include <stdlib.h>

typedef float ***field3;

static field3 field_new(int nz, int ny, int nx)
{
    float *block = calloc((size_t)nz * ny * nx, sizeof *block);
    float **rows = malloc(sizeof *rows * nz * ny);
    field3 planes = malloc(sizeof *planes * nz);
    for (int z = 0; z < nz; z++) {
        planes[z] = rows + z * ny;
        for (int y = 0; y < ny; y++)
            planes[z][y] = block + ((size_t)z * ny + y) * nx;
    }
    return planes;
}

static void jacobi(field3 a, field3 b, int nz, int ny, int nx)
{
    /* nest: seven_points */
    for (int z = 1; z < nz - 1; ++z)
        for (int y = 1; y < ny - 1; ++y)
            for (int x = 1; x < nx - 1; ++x)
                b[z][y][x] = (a[z - 1][y][x] + a[z + 1][y][x] + a[z][y - 1][x] + a[z][y + 1][x]
                              + a[z][y][x - 1] + a[z][y][x + 1]) / 6.0f;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 18;
    field3 a = field_new(n, n, n), b = field_new(n, n, n);
    /* nest: init */
    for (int z = 0; z < n; z++)
        for (int y = 0; y < n; y++)
            for (int x = 0; x < n; x++)
                a[z][y][x] = (float)((x * y + z) % 9);
    jacobi(a, b, n, n, n);
    jacobi(b, a, n, n, n);
    double s = 0;
    for (int z = 0; z < n; z++)
        for (int y = 0; y < n; y++)
            for (int x = 0; x < n; x++)
                s += a[z][y][x] * (z + 1);
    printf("grid3d %.4f\n", s);
    return 0;
}
