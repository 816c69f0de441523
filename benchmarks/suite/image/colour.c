#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct rgb { uint8_t r, g, b; };
struct ycc { int16_t y, cb, cr; };

static void to_ycc(const struct rgb *restrict in, struct ycc *restrict out, int n)
{
    /* nest: to_ycc */
    for (int i = 0; i < n; ++i) {
        struct rgb p = in[i];
        struct ycc q;
        q.y = (int16_t)((77 * p.r + 150 * p.g + 29 * p.b) >> 8);
        q.cb = (int16_t)(((-43 * p.r - 85 * p.g + 128 * p.b) >> 8) + 128);
        q.cr = (int16_t)(((128 * p.r - 107 * p.g - 21 * p.b) >> 8) + 128);
        out[i] = q;
    }
}

static void grey(struct rgb *px, uint8_t *out, size_t count)
{
    /* nest: grey */
    for (size_t i = 0; i < count; i++)
        out[i] = (uint8_t)((px[i].r * 2 + px[i].g * 5 + px[i].b) / 8);
}

static void invert(struct rgb *px, int width, int height)
{
    /* nest: invert */
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            px[y * width + x].r = 255 - px[y * width + x].r;
            px[y * width + x].g = 255 - px[y * width + x].g;
            px[y * width + x].b = 255 - px[y * width + x].b;
        }
}

int main(int argc, char **argv)
{
    const int width = argc > 1 ? atoi(argv[1]) : 60, height = 40, n = width * height;
    struct rgb *px = malloc(n * sizeof *px);
    struct ycc *yc = malloc(n * sizeof(struct ycc));
    uint8_t *g = malloc(n);
    long long sum = 0;
    for (int i = 0; i < n; i++) {
        px[i].r = (uint8_t)(i * 3);
        px[i].g = (uint8_t)(i * 5 >> 1);
        px[i].b = (uint8_t)(i ^ 0x5a);
    }
    to_ycc(px, yc, n);
    invert(px, width, height);
    grey(px, g, (size_t)n);
    for (int i = 0; i < n; i++)
        sum += yc[i].y + 3 * yc[i].cb - yc[i].cr + (long long)g[i] * (i & 15);
    printf("colour %lld\n", sum);
    free(px), free(yc), free(g);
    return 0;
}
