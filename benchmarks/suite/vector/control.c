#include <math.h>
#include <stdio.h>
#include "data.h"
DEFINE_ARRAYS

static void guarded(void)
{
    /* nest: guarded */
    for (int i = 0; i < LEN; i++)
        if (b[i] > (real_t)0.)
            a[i] += b[i] * c[i];
}

static void either(void)
{
    /* nest: either */
    for (int i = 0; i < LEN; i++) {
        if (d[i] < 0)
            goto minus;
        a[i] = a[i] + d[i] * e[i];
        continue;
    minus:
        a[i] = b[i] - d[i];
    }
}

static real_t largest(void)
{
    real_t x = a[0];
    /* nest: largest */
    for (int i = 1; i < LEN; ++i)
        if (a[i] > x)
            x = a[i];
    return x;
}

static int where_largest(void)
{
    real_t x = fabsf(a[0]);
    int at = 0;
    /* nest: argmax */
    for (int i = 1; i < LEN; ++i)
        if (fabsf(a[i]) > x) {
            x = fabsf(a[i]);
            at = i;
        }
    return at;
}

static int first_below(real_t t)
{
    /* nest: search */
    for (int i = 0; i < LEN; i++)
        if (a[i] < t)
            return i;
    return -1;
}

static int pack(void)
{
    int j = 0;
    /* nest: pack */
    for (int i = 0; i < LEN; i++)
        if (b[i] > 0)
            e[j++] = b[i];
    return j;
}

static void peeled(void)
{
    int im1 = LEN - 1;
    /* nest: peeled */
    for (int i = 0; i < LEN; i++) {
        a[i] = (b[i] + b[im1]) * .5f;
        im1 = i;
    }
}

static void mode(int kind)
{
    /* nest: mode */
    for (int i = 0; i < LEN; i++) {
        switch (kind) {
        case 1: c[i] = a[i] + b[i]; break;
        case 2: c[i] = a[i] - b[i]; break;
        default: c[i] = 0;
        }
    }
}

int main(void)
{
    FILL_ARRAYS();
    guarded();
    either();
    mode(2);
    int n = pack(), w = where_largest(), f = first_below(-2.0f);
    real_t x = largest();
    peeled();
    printf("control %.6g %d %d %d %.3f\n", all_sums(), n, w, f, x);
    return 0;
}
