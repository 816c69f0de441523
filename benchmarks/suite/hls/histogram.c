#include <stdio.h>
#include <string.h>
#include <stdint.h>

#define PIXELS 4096
#define BINS 256

// Histogram, running sum, equalisation: three stages.
void equalize(const uint8_t in[PIXELS], uint8_t out[PIXELS]) {
    uint32_t hist[BINS];
    uint32_t cdf[BINS];
    memset(hist, 0, sizeof(hist));
    /* nest: count */
    COUNT: for (int i = 0; i < PIXELS; i++) {
        hist[in[i]]++;
    }
    cdf[0] = hist[0];
    /* nest: scan */
    SCAN: for (int b = 1; b < BINS; b++) {
        cdf[b] = cdf[b - 1] + hist[b];
    }
    /* nest: apply */
    APPLY: for (int i = 0; i < PIXELS; i++) {
        out[i] = (uint8_t)((cdf[in[i]] * 255u) / PIXELS);
    }
}

int main(void) {
    static uint8_t in[PIXELS], out[PIXELS];
    unsigned long s = 0;
    for (int i = 0; i < PIXELS; i++) in[i] = (uint8_t)((i * i) >> 5);
    equalize(in, out);
    for (int i = 0; i < PIXELS; i++) s = s * 33 + out[i];
    printf("histogram %lu\n", s);
    return 0;
}
