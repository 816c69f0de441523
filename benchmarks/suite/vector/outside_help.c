#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "data.h"
DEFINE_ARRAYS

double clamp01(double x);
typedef double (*shape_fn)(double);

static void maths(void)
{
    /* nest: maths */
    for (int i = 0; i < LEN; i++)
        a[i] = sqrtf(fabsf(b[i])) + sinf(d[i]) * expf(-e[i]);
}
static void through_pointer(shape_fn f, int n)
{
    /* nest: function_pointer */
    for (int i = 0; i < n; i++)
        c[i] = (float)f(c[i]);
}
static void external(int n)
{
    /* nest: external */
    for (int i = 0; i < n; i++)
        d[i] = (float)clamp01(d[i]);
}
static void allocating(int n)
{
    /* nest: allocating */
    for (int i = 0; i < n; i++) {
        float *t = malloc(4 * sizeof *t);
        for (int k = 0; k < 4; k++) t[k] = b[(i + k) % LEN];
        e[i] = t[0] + t[3];
        free(t);
    }
}
static void moved(int n)
{
    /* nest: memmove */
    for (int i = 0; i + 1 < LEN2 && i < n; i++)
        memcpy(aa[i], bb[i + 1], sizeof aa[i]);
}

double clamp01(double x) { return x < 0 ? 0 : x > 1 ? 1 : x; }

int main(int argc, char **argv)
{
    FILL_ARRAYS();
    maths();
    through_pointer(argc > 1 ? cos : sqrt, 100);
    external(LEN);
    allocating(50);
    moved(LEN2);
    printf("outside_help %.5g\n", all_sums());
    return 0;
}
