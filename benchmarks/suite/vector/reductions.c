#include <stdio.h>
#include "data.h"
DEFINE_ARRAYS

float dot(const float *restrict x, const float *restrict y, int n)
{
    float s = 0.f;
    /* nest: dot */
    for (int i = 0; i < n; i += 1)
        s += x[i] * y[i];
    return s;
}
float unrolled(const float *x, int n)
{
    float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    int i;
    /* nest: unrolled */
    for (i = 0; i + 4 <= n; i += 4) {
        s0 += x[i];
        s1 += x[i + 1];
        s2 += x[i + 2];
        s3 += x[i + 3];
    }
    for (; i < n; i++)
        s0 += x[i];
    return s0 + s1 + s2 + s3;
}
float prefix(void)
{
    float s = 0;
    /* nest: prefix */
    for (int i = 0; i < LEN; i++) {
        s += a[i];
        b[i] = s;
    }
    return s;
}
float product(void)
{
    float p = 1;
    /* nest: product */
    for (int i = 0; i < LEN; i++)
        p *= 1.0f + a[i] * 1e-4f;
    return p;
}
void column_sums(void)
{
    /* nest: columns */
    for (int j = 0; j < LEN2; j++) {
        float s = 0;
        for (int i = 0; i < LEN2; i++)
            s += aa[i][j];
        c[j] = s;
    }
}
float horner(const float *p, float x, int n)
{
    float v = 0;
    /* nest: horner */
    while (n-- > 0)
        v = v * x + p[n];
    return v;
}

int main(void)
{
    FILL_ARRAYS();
    float s = dot(a, b, LEN) + unrolled(c, LEN - 1) + product() + horner(d, 0.5f, 40);
    s += prefix();
    column_sums();
    printf("reductions %.5g %.5g\n", s, all_sums());
    return 0;
}
