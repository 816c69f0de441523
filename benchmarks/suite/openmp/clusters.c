#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float dist2(int dims, const float *a, const float *b)
{
    float s = 0.0f;
    for (int i = 0; i < dims; i++)
        s += (a[i] - b[i]) * (a[i] - b[i]);
    return s;
}

static int nearest(int k, int dims, const float *x, float **centre)
{
    int best = 0;
    float least = FLT_MAX;
    for (int c = 0; c < k; c++) {
        float d = dist2(dims, x, centre[c]);
        if (d < least) {
            least = d;
            best = c;
        }
    }
    return best;
}

static int assign(float **points, float **centre, int *owner, int n, int k, int dims)
{
    int changed = 0;
    /* nest: assign */
#pragma omp parallel for reduction(+ : changed)
    for (int i = 0; i < n; i++) {
        int c = nearest(k, dims, points[i], centre);
        if (c != owner[i])
            changed++;
        owner[i] = c;
    }
    return changed;
}

static void recentre(float **points, float **centre, const int *owner, int *count, int n, int k, int dims)
{
    for (int c = 0; c < k; c++) {
        count[c] = 0;
        memset(centre[c], 0, dims * sizeof(float));
    }
    /* nest: scatter */
    for (int i = 0; i < n; i++) {
        count[owner[i]]++;
        for (int j = 0; j < dims; j++)
            centre[owner[i]][j] += points[i][j];
    }
    /* nest: divide */
    for (int c = 0; c < k; c++)
        for (int j = 0; j < dims; j++)
            if (count[c] > 0)
                centre[c][j] /= count[c];
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 300, k = 5, dims = 4, rounds = 0;
    float **points = malloc(n * sizeof(float *)), **centre = malloc(k * sizeof(float *));
    points[0] = malloc(n * dims * sizeof(float));
    for (int i = 1; i < n; i++) points[i] = points[i - 1] + dims;
    for (int c = 0; c < k; c++) centre[c] = malloc(dims * sizeof(float));
    int *owner = calloc(n, sizeof(int)), *count = calloc(k, sizeof(int));
    for (int i = 0; i < n; i++)
        for (int j = 0; j < dims; j++)
            points[i][j] = (float)((i * (j + 3)) % 17) + (float)(i % k) * 20;
    for (int c = 0; c < k; c++) memcpy(centre[c], points[c], dims * sizeof(float));
    while (assign(points, centre, owner, n, k, dims) > 0 && rounds++ < 50)
        recentre(points, centre, owner, count, n, k, dims);
    double s = 0;
    for (int c = 0; c < k; c++) for (int j = 0; j < dims; j++) s += centre[c][j] * (c + 1);
    printf("clusters %d %.4f\n", rounds, s);
    return 0;
}
