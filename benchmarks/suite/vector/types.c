#include <complex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void narrow(const int16_t *x, const int16_t *y, int16_t *restrict z, size_t n)
{
    /* nest: shorts */
    for (size_t i = 0; i < n; i++)
        z[i] = (int16_t)((x[i] + y[i] + 1) >> 1);
}
static void saturate(uint8_t *x, const uint8_t *y, unsigned n)
{
    /* nest: saturate */
    for (unsigned i = 0; i < n; i++) {
        unsigned t = x[i] + y[i];
        x[i] = t > 255 ? 255 : (uint8_t)t;
    }
}
static uint64_t mix(const uint32_t *x, int n)
{
    uint64_t h = 1469598103934665603ULL;
    /* nest: hash */
    for (int i = 0; i < n; i++) {
        h ^= x[i];
        h *= 1099511628211ULL;
    }
    return h;
}
static void rotate(double complex *z, double complex w, int n)
{
    /* nest: complex */
    for (int i = 0; i < n; i++)
        z[i] = z[i] * w + conj(z[i]);
}
static int agree(const bool *p, const bool *q, int n)
{
    int k = 0;
    /* nest: bools */
    for (int i = 0; i < n; i++)
        k += p[i] == q[i];
    return k;
}
static void convert(const int *in, double *out, float *half, int n)
{
    /* nest: convert */
    for (int i = 0; i < n; i++) {
        out[i] = in[i] * 0.1;
        half[i] = (float)(out[i] / 2);
    }
}

int main(void)
{
    enum { N = 500 };
    int16_t x[N], y[N], z[N];
    uint8_t p[N], q[N];
    uint32_t w[N];
    double complex zc[N];
    bool f[N], g[N];
    int in[N];
    double out[N], s = 0;
    float half[N];
    for (int i = 0; i < N; i++) {
        x[i] = (int16_t)(i * 91), y[i] = (int16_t)(i * 57 + 3), p[i] = (uint8_t)i, q[i] = (uint8_t)(i * 3);
        w[i] = i * 2654435761u, zc[i] = i * 0.5 + I * (i % 4), f[i] = i % 2, g[i] = i % 3 == 0, in[i] = i - 250;
    }
    narrow(x, y, z, N);
    saturate(p, q, N);
    rotate(zc, 0.3 + 0.4 * I, N);
    convert(in, out, half, N);
    for (int i = 0; i < N; i++) s += z[i] + p[i] + creal(zc[i]) + 2 * cimag(zc[i]) + out[i] * half[i];
    printf("types %.6f %llx %d\n", s, (unsigned long long)mix(w, N), agree(f, g, N));
    return 0;
}
