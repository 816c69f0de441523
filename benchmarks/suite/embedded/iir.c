#include <stdio.h>
#include <stdint.h>

#define STAGES 4
#define FRAME 256

struct biquad { float b0, b1, b2, a1, a2; float z1, z2; };

static struct biquad chain[STAGES];

static void run(struct biquad *q, float *x, int n)
{
    int s, i;
    /* nest: chain */
    for (s = 0; s < STAGES; s++) {
        float z1 = q[s].z1, z2 = q[s].z2;
        for (i = 0; i < n; i++) {
            float in = x[i];
            float out = q[s].b0 * in + z1;
            z1 = q[s].b1 * in - q[s].a1 * out + z2;
            z2 = q[s].b2 * in - q[s].a2 * out;
            x[i] = out;
        }
        q[s].z1 = z1;
        q[s].z2 = z2;
    }
}

/* Normalised least mean squares: weights follow the error. */
static float lms(const float *x, const float *d, float *w, int taps, int n)
{
    float energy = 0;
    /* nest: lms */
    for (int i = taps; i < n; i++) {
        float y = 0;
        for (int k = 0; k < taps; k++)
            y += w[k] * x[i - k];
        float e = d[i] - y;
        energy += e * e;
        for (int k = 0; k < taps; k++)
            w[k] += 0.01f * e * x[i - k];
    }
    return energy;
}

int main(void)
{
    static float x[FRAME], d[FRAME], w[16];
    for (int s = 0; s < STAGES; s++)
        chain[s] = (struct biquad){0.2f + 0.01f * s, 0.4f, 0.2f, -0.3f, 0.1f, 0, 0};
    for (int i = 0; i < FRAME; i++) { x[i] = (float)(i % 32) / 16 - 1; d[i] = (float)(i % 16) / 8 - 1; }
    run(chain, x, FRAME);
    float e = lms(x, d, w, 16, FRAME);
    double sum = 0;
    for (int i = 0; i < FRAME; i++) sum += x[i] * (i % 5);
    printf("iir %.4f %.4f\n", sum, e);
    return 0;
}
