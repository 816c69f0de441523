#include "fixed.h"
#include <stdio.h>
#include <string.h>

#define TAPS 32
#define BLOCK 160

typedef struct {
    q15_t coeff[TAPS];
    q15_t delay[TAPS + BLOCK];
    int len;
} fir_state;

static fir_state filter;

void fir_block(fir_state *s, const q15_t *in, q15_t *out)
{
    int n, k;
    memcpy(s->delay + TAPS, in, BLOCK * sizeof(q15_t));
    /* nest: state */
    for (n = 0; n < BLOCK; n++) {
        q31_t acc = 1 << 14;
        for (k = 0; k < TAPS; k++)
            acc += (q31_t)s->coeff[k] * s->delay[n + TAPS - k];
        out[n] = sat16(acc >> 15);
    }
    memmove(s->delay, s->delay + BLOCK, TAPS * sizeof(q15_t));
}

/* The same on plain arrays with a length that the caller gives. */
void fir_plain(const int16_t x[], const int16_t h[], int16_t y[], int samples)
{
    int n, k;
    /* nest: plain */
    for (n = TAPS - 1; n < samples; n++) {
        int32_t sum = 0;
        for (k = 0; k < TAPS; k++)
            sum += x[n - k] * h[k];
        y[n] = (int16_t)(sum >> 15);
    }
}

int main(void)
{
    static q15_t in[BLOCK], out[BLOCK], y[BLOCK];
    long s = 0;
    for (int i = 0; i < TAPS; i++)
        filter.coeff[i] = (q15_t)(1000 - 60 * (i - 16) * (i > 16 ? 1 : -1));
    for (int i = 0; i < BLOCK; i++)
        in[i] = (q15_t)((i * 1201) % 20000 - 10000);
    for (int round = 0; round < 3; round++)
        fir_block(&filter, in, out);
    fir_plain(in, filter.coeff, y, BLOCK);
    for (int i = 0; i < BLOCK; i++)
        s += out[i] * (i % 9) + y[i];
    printf("fir %ld\n", s);
    return 0;
}
