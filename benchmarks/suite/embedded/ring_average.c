#include <stdint.h>
#include <stdio.h>

#define RING 64
#define MASK (RING - 1)

typedef struct { int32_t slot[RING]; unsigned head; int64_t total; } ring_t;

static void ring_push(ring_t *r, int32_t v)
{
    r->total += v - r->slot[r->head & MASK];
    r->slot[r->head & MASK] = v;
    r->head++;
}

/* Moving average through a ring, one sample at a time. */
static void smooth(const int32_t *in, int32_t *out, int n)
{
    ring_t r = {{0}, 0, 0};
    /* nest: ring */
    for (int i = 0; i < n; i++) {
        ring_push(&r, in[i]);
        out[i] = (int32_t)(r.total / RING);
    }
}

/* Decimation by eight, with a window. */
static void decimate(const int32_t in[1024], int32_t out[128], const int8_t win[8])
{
    int i, j;
    /* nest: decimate */
    for (i = 0; i < 128; i++) {
        int32_t acc = 0;
        for (j = 0; j < 8; j++)
            acc += in[8 * i + j] * win[j];
        out[i] = acc >> 6;
    }
}

int main(void)
{
    static int32_t in[1024], out[1024], low[128];
    static const int8_t win[8] = {1, 3, 9, 19, 19, 9, 3, 1};
    long s = 0;
    for (int i = 0; i < 1024; i++) in[i] = (i * 777) % 4001 - 2000;
    smooth(in, out, 1024);
    decimate(in, low, win);
    for (int i = 0; i < 1024; i++) s += out[i] + low[i / 8] * (i % 3);
    printf("ring_average %ld\n", s);
    return 0;
}
