#include <stdio.h>
#include "data.h"
DEFINE_ARRAYS

static void gather(const int *restrict ix)
{
    /* nest: gather */
    for (int i = 0; i < LEN; i++)
        a[i] = b[ix[i]] + c[i];
}
static void scatter(void)
{
    /* nest: scatter */
    for (int i = 0; i < LEN; i++)
        d[indx[i]] = a[i] + 1;
}
static void both(void)
{
    /* nest: both */
    for (int i = 0; i < LEN; i++)
        e[indx[i]] += a[indx[i]] * b[i];
}
static void strided(int inc, int n)
{
    /* nest: strided */
    for (int i = 0; i < n; i += inc)
        a[i] += b[i];
}
static void flat_rows(float *restrict m, const float *restrict v, int rows, int cols)
{
    /* nest: flat */
    for (int r = 0; r < rows; r++)
        for (int k = 0; k < cols; k++)
            m[r * cols + k] *= v[k];
}
static void alias(float *x, int n)
{
    float *y = x + 1;
    /* nest: shifted_alias */
    for (int i = 0; i < n; i++)
        y[i] = x[i] * 0.5f + 1;
}

int main(void)
{
    FILL_ARRAYS();
    gather(indx);
    scatter();
    both();
    strided(3, LEN);
    flat_rows(&aa[0][0], b, LEN2, LEN2);
    alias(c, LEN - 1);
    printf("indirect %.6g\n", all_sums());
    return 0;
}
