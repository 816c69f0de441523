#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>

#define LESS(a, b) ((a) < (b) ? (a) : (b))
#define MORE(a, b) ((a) < (b) ? (b) : (a))
#define MIDDLE(a, b, c) MORE(LESS(a, b), LESS(MORE(a, b), c))

/* Lines sorted by themselves; then the middle of the most of the lows, the middles, the least of the highs. */
static inline uint8_t median9(const uint8_t *v)
{
    uint8_t low = 0, mid[3], high = 255;
    for (int i = 0; i < 3; i++) {
        uint8_t a = v[3 * i], b = v[3 * i + 1], c = v[3 * i + 2];
        uint8_t l = LESS(LESS(a, b), c), h = MORE(MORE(a, b), c);
        mid[i] = MIDDLE(a, b, c);
        low = MORE(low, l);
        high = LESS(high, h);
    }
    uint8_t m = MIDDLE(mid[0], mid[1], mid[2]);
    return MIDDLE(low, m, high);
}

void median_filter(uint8_t *in, uint8_t *out, int width, int height)
{
    int x, y, dx, dy;
    /* nest: network */
    for (y = 1; y < height - 1; y++) {
        for (x = 1; x < width - 1; x++) {
            uint8_t v[9];
            for (dy = -1; dy <= 1; dy++)
                for (dx = -1; dx <= 1; dx++)
                    v[(dy + 1) * 3 + dx + 1] = in[(y + dy) * width + x + dx];
            out[y * width + x] = median9(v);
        }
    }
}

int main(int argc, char **argv)
{
    int width = 50, height = argc > 1 ? atoi(argv[1]) : 33;
    uint8_t *in = malloc(width * height), *out = calloc(width, height);
    unsigned s = 1;
    for (int i = 0; i < width * height; i++) { s = s * 1103515245u + 12345u; in[i] = s >> 24; }
    median_filter(in, out, width, height);
    unsigned h = 0;
    for (int i = 0; i < width * height; i++) h = h * 17 + out[i];
    printf("median %u\n", h);
    return 0;
}
