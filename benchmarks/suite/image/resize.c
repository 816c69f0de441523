/* Bilinear scaling, positions in fixed point computed before. */
#include "checks.h"
#include "picture.h"

typedef struct { int *index; int *weight; } axis_t;

static axis_t make_axis(int from, int to)
{
    axis_t a = { malloc(to * sizeof(int)), malloc(to * sizeof(int)) };
    for (int i = 0; i < to; i++) {
        long pos = (long)i * (from - 1) * 256 / (to - 1);
        a.index[i] = MIN((int)(pos >> 8), from - 2);
        a.weight[i] = (int)(pos - 256L * a.index[i]);
    }
    return a;
}

static void resize(const Picture *src, Picture *dst, const axis_t *ax, const axis_t *ay)
{
    const pixel *in = src->data;
    pixel *out = dst->data;
    const int ss = src->stride, ds = dst->stride;
    /* nest: bilinear */
    for (int y = 0; y < dst->height; y++) {
        const int y0 = ay->index[y], wy = ay->weight[y];
        for (int x = 0; x < dst->width; x++) {
            const int x0 = ax->index[x], wx = ax->weight[x];
            const int top = in[y0 * ss + x0] * (256 - wx) + in[y0 * ss + x0 + 1] * wx;
            const int low = in[(y0 + 1) * ss + x0] * (256 - wx) + in[(y0 + 1) * ss + x0 + 1] * wx;
            out[y * ds + x] = (pixel)((top * (256 - wy) + low * wy) >> 16);
        }
    }
}

static void half(const Picture *src, Picture *dst)
{
    /* nest: half */
    for (int y = 0; y < dst->height; y++)
        for (int x = 0; x < dst->width; x++) {
            int sum = AT(src, 2 * x, 2 * y) + AT(src, 2 * x + 1, 2 * y)
                    + AT(src, 2 * x, 2 * y + 1) + AT(src, 2 * x + 1, 2 * y + 1);
            AT(dst, x, y) = (pixel)((sum + 2) / 4);
        }
}

int main(int argc, char **argv)
{
    int n = size_argument(argc, argv, 1, 48);
    Picture *a = picture_new(n, n), *b = picture_new(2 * n - 3, n + 9), *c = picture_new(n / 2, n / 2);
    for (int i = 0; i < n * n; i++)
        a->data[i] = (pixel)(i * i >> 2);
    axis_t ax = make_axis(n, b->width), ay = make_axis(n, b->height);
    resize(a, b, &ax, &ay);
    half(a, c);
    unsigned h = 5;
    for (int i = 0; i < b->width * b->height; i++) h = h * 31 + b->data[i];
    for (int i = 0; i < c->width * c->height; i++) h = h * 31 + c->data[i];
    printf("resize %u\n", h);
    return 0;
}
