#include <stdio.h>
#define LOGN 8
#define LEN (1 << LOGN)

/* Walsh-Hadamard transform in place; the span of the butterflies doubles. */
static void transform(int v[LEN])
{
    /* nest: doubling */
    STAGE: for (int span = 1; span < LEN; span <<= 1)
        GROUP: for (int base = 0; base < LEN; base += 2 * span)
            FLY: for (int k = base; k < base + span; k++) {
                int up = v[k], down = v[k + span];
                v[k] = up + down;
                v[k + span] = up - down;
            }
}

/* The same with stages counted, so that all bounds are affine in powers that are constants. */
static void transform_by_table(int v[LEN], int out[LEN])
{
    /* nest: dense */
    for (int r = 0; r < LEN; r++) {
        int s = 0;
        for (int c = 0; c < LEN; c++)
            s += __builtin_parity((unsigned)(r & c)) ? -v[c] : v[c];
        out[r] = s;
    }
}

int main(void) {
    static int v[LEN], w[LEN];
    long sum = 0;
    for (int i = 0; i < LEN; i++) v[i] = i * 31 % 64 - 20;
    transform_by_table(v, w);
    transform(v);
    for (int i = 0; i < LEN; i++) sum += (long)v[i] * (i & 3) + (v[i] != w[i]) * 100000L;
    printf("hadamard %ld\n", sum);
    return 0;
}
