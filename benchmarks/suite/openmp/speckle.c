#include <stdio.h>
#include <stdlib.h>
#include <math.h>

#define REAL float

/* Smoothing that stops at edges; columns first, neighbours through tables of indices. */
int main(int argc, char *argv[])
{
    long tall = argc > 1 ? atol(argv[1]) : 40, wide = 32, all = tall * wide;
    int rounds = 4, round;
    long y, x, at;
    REAL *pic = malloc(sizeof(REAL) * all), *flow = malloc(sizeof(REAL) * all);
    REAL *to_north = malloc(sizeof(REAL) * all), *to_west = malloc(sizeof(REAL) * all);
    int *above = malloc(sizeof(int) * tall), *below = malloc(sizeof(int) * tall);
    int *before = malloc(sizeof(int) * wide), *after = malloc(sizeof(int) * wide);

    for (at = 0; at < all; at++) pic[at] = expf((REAL)(at * 7 % 50) / 255);
    for (y = 0; y < tall; y++) { above[y] = y ? y - 1 : 0; below[y] = y + 1 < tall ? y + 1 : y; }
    for (x = 0; x < wide; x++) { before[x] = x ? x - 1 : 0; after[x] = x + 1 < wide ? x + 1 : x; }

    for (round = 0; round < rounds; round++) {
        REAL sum = 0, squares = 0;
        /* nest: moments */
        for (at = 0; at < all; at++) {
            sum += pic[at];
            squares += pic[at] * pic[at];
        }
        REAL mean = sum / all, spread = squares / all - mean * mean;

        /* nest: gradient */
        #pragma omp parallel for shared(pic, flow, to_north, to_west, tall, wide, above, below, before, after) private(y, at)
        for (x = 0; x < wide; x++) {
            for (y = 0; y < tall; y++) {
                at = y + tall * x;
                REAL here = pic[at];
                REAL s = pic[below[y] + tall * x] - here, e = pic[y + tall * after[x]] - here;
                to_north[at] = pic[above[y] + tall * x] - here;
                to_west[at] = pic[y + tall * before[x]] - here;
                REAL slope = to_north[at] * to_north[at] + to_west[at] * to_west[at] + s * s + e * e;
                flow[at] = 1 / (1 + slope / spread);
                if (flow[at] < 0.01f)
                    flow[at] = 0.01f;
                else if (flow[at] > 1)
                    flow[at] = 1;
            }
        }
        /* nest: diverge */
        #pragma omp parallel for private(y, at)
        for (x = 0; x < wide; x++)
            for (y = 0; y < tall; y++) {
                at = y + tall * x;
                REAL out = flow[below[y] + tall * x] + flow[y + tall * after[x]];
                pic[at] += 0.2f * (flow[at] * (to_north[at] + to_west[at]) - 0.01f * out);
            }
    }
    double total = 0;
    for (at = 0; at < all; at++) total += pic[at] * (at % 3);
    printf("speckle %.4f\n", total);
    return 0;
}
