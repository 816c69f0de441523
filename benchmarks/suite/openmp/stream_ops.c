#include <stdio.h>
#include <stdlib.h>
#include "platform.h"

#ifndef COUNT
#define COUNT 20000
#endif

static scalar a[COUNT] ALIGNED(CACHE_LINE), b[COUNT] ALIGNED(CACHE_LINE), c[COUNT] ALIGNED(CACHE_LINE);

int main(void)
{
    ssize_t j;
    scalar factor = 3.0;
    int k;
    /* nest: start */
#pragma omp parallel for
    for (j = 0; j < COUNT; j++) {
        a[j] = 1.0 + j % 3;
        b[j] = 2.0;
        c[j] = 0.0;
    }
    for (k = 0; k < 3; k++) {
        /* nest: copy */
#pragma omp parallel for
        for (j = 0; j < COUNT; j++)
            c[j] = a[j];
#pragma omp parallel for
        for (j = 0; j < COUNT; j++)
            b[j] = factor * c[j];
        /* nest: triad */
#pragma omp parallel for
        for (j = 0; j < COUNT; j++)
            a[j] = b[j] + factor * c[j];
    }
    double s = 0;
    for (j = 0; j < COUNT; j++)
        s += a[j];
    printf("stream_ops %.6g\n", s);
    return 0;
}
