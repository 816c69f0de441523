#include <stdint.h>
#include <stdio.h>

typedef enum { IDLE, SYNC, LENGTH, BODY } state_e;

/* Frames out of a stream of bytes. */
static int frames(const uint8_t *in, int n)
{
    state_e st = IDLE;
    int left = 0, good = 0;
    /* nest: machine */
    for (int i = 0; i < n; i++) {
        switch (st) {
        case IDLE: if (in[i] == 0x7e) st = SYNC; break;
        case SYNC: st = in[i] == 0x81 ? LENGTH : IDLE; break;
        case LENGTH: left = in[i] & 7; st = left ? BODY : IDLE; break;
        case BODY: if (--left == 0) { good++; st = IDLE; } break;
        }
    }
    return good;
}

static int gain_of(int kind)
{
    switch (kind) {
    case 0: return 1;
    case 1: return 3;
    case 2: return -2;
    default: return 0;
    }
}

static void amplify(int16_t *v, const uint8_t *kind, int n)
{
    /* nest: amplify */
    for (int i = 0; i < n; i++)
        v[i] = (int16_t)(v[i] * gain_of(kind[i] & 3));
}

static int parity_errors(const uint32_t *w, int n)
{
    int bad = 0;
    /* nest: parity */
    for (int i = 0; i < n; i++) {
        uint32_t x = w[i];
        x ^= x >> 16; x ^= x >> 8; x ^= x >> 4;
        bad += (0x6996 >> (x & 15)) & 1;
    }
    return bad;
}

int main(void)
{
    static uint8_t in[600];
    static int16_t v[600];
    static uint32_t w[600];
    for (int i = 0; i < 600; i++) { in[i] = (uint8_t)(i * 37); v[i] = (int16_t)(i - 300); w[i] = i * 2654435761u; }
    for (int i = 5; i < 590; i += 13) { in[i] = 0x7e; in[i + 1] = 0x81; }
    amplify(v, in, 600);
    long s = 0;
    for (int i = 0; i < 600; i++) s += v[i] * (i % 7);
    printf("state_machine %d %ld %d\n", frames(in, 600), s, parity_errors(w, 600));
    return 0;
}
