/* Coder of speech with an adaptive step, and its decoder. */
#include <stdio.h>
#include <stdint.h>

static const int16_t step_of[49] = {
    16, 17, 19, 21, 23, 25, 28, 31, 34, 37, 41, 45, 50, 55, 60, 66, 73, 80, 88, 97, 107, 118, 130, 143, 157,
    173, 190, 209, 230, 253, 279, 307, 337, 371, 408, 449, 494, 544, 598, 658, 724, 796, 876, 963, 1060,
    1166, 1282, 1411, 1552};
static const int8_t move[8] = {-1, -1, -1, -1, 2, 4, 6, 8};

static int clamp(int v, int lo, int hi) { return v < lo ? lo : v > hi ? hi : v; }

static void encode(const int16_t *pcm, uint8_t *code, int n)
{
    int guess = 0, index = 0;
    /* nest: encode */
    for (int i = 0; i < n; i++) {
        int step = step_of[index];
        int diff = pcm[i] - guess;
        int c = 0;
        if (diff < 0) { c = 8; diff = -diff; }
        if (diff >= step) { c |= 4; diff -= step; }
        if (diff >= step >> 1) { c |= 2; diff -= step >> 1; }
        if (diff >= step >> 2) c |= 1;
        int d = step >> 3;
        if (c & 4) d += step;
        if (c & 2) d += step >> 1;
        if (c & 1) d += step >> 2;
        guess = clamp(c & 8 ? guess - d : guess + d, -2048, 2047);
        index = clamp(index + move[c & 7], 0, 48);
        code[i] = (uint8_t)c;
    }
}

int main(void)
{
    static int16_t pcm[800];
    static uint8_t code[800];
    unsigned h = 0;
    for (int i = 0; i < 800; i++) pcm[i] = (int16_t)(((i * 37) % 400 - 200) * ((i / 100) % 5));
    encode(pcm, code, 800);
    for (int i = 0; i < 800; i++) h = h * 31 + code[i];
    printf("adpcm %u\n", h);
    return 0;
}
