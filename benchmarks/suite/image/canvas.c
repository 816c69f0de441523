#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Layers of floats that are blended, padded, flipped and shifted. */

typedef float *plane;

static plane new_plane(int w, int h) { return (plane) malloc(sizeof(float) * w * h); }

static void over(plane restrict bottom, const float *restrict top, const float *restrict alpha, int size)
{
    int i = size;
    /* nest: over */
    while (i--) {
        bottom[i] = alpha[i] * top[i] + (1 - alpha[i]) * bottom[i];
    }
}

static void flip(plane p, int w, int h)
{
    /* nest: flip */
    for (int y = 0; y < h / 2; y++) {
        float *a = p + y * w, *b = p + (h - 1 - y) * w;
        for (int x = 0; x < w; x++) {
            float t = a[x];
            a[x] = b[x];
            b[x] = t;
        }
    }
}

static void pad(const float *in, float *out, int w, int h, int m)
{
    int W = w + 2 * m;
    memset(out, 0, sizeof(float) * W * (h + 2 * m));
    /* nest: pad */
    for (int y = 0; y < h; y++)
        memcpy(&out[(y + m) * W + m], &in[y * w], w * sizeof(float));
}

static void gamma_all(float *p, int n)
{
    float *end = p + n;
    /* nest: pointer */
    for (; p != end; ++p)
        *p = *p * *p * (3.0f - 2.0f * *p);
}

int main(int argc, char **argv)
{
    int w = 40, h = 30, m = 4, i;
    if (argc > 1) w = atoi(argv[1]);
    plane a = new_plane(w, h), b = new_plane(w, h), c = new_plane(w, h);
    plane d = new_plane(w + 2 * m, h + 2 * m);
    for (i = 0; i < w * h; i++) {
        a[i] = (i % 97) / 97.0f;
        b[i] = (i % 31) / 31.0f;
        c[i] = (i % 7) / 7.0f;
    }
    over(a, b, c, w * h);
    flip(a, w, h);
    gamma_all(a, w * h);
    pad(a, d, w, h, m);
    double s = 0;
    for (i = 0; i < (w + 2 * m) * (h + 2 * m); i++) s += d[i] * (i % 13);
    printf("canvas %.4f\n", s);
    free(a); free(b); free(c); free(d);
    return 0;
}
