#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Inference: buffers in one arena, layers described by structures. */

struct layer { int in, out; const float *weight, *bias; };
struct model { int depth; struct layer layer[4]; float *scratch; };

static void linear(const struct layer *l, const float *x, float *y, int batch)
{
    const float *w = l->weight;
    /* nest: linear */
    for (int b = 0; b < batch; b++)
        for (int o = 0; o < l->out; o++) {
            float s = l->bias[o];
            for (int i = 0; i < l->in; i++)
                s += w[o * l->in + i] * x[b * l->in + i];
            y[b * l->out + o] = s;
        }
}

static void relu(float *x, int n)
{
    /* nest: relu */
    for (int i = 0; i < n; i++)
        x[i] = x[i] < 0 ? 0 : x[i];
}

static void softmax(float *x, int rows, int cols)
{
    /* nest: softmax */
    for (int r = 0; r < rows; r++) {
        float *p = x + r * cols;
        float top = p[0], sum = 0;
        for (int c = 1; c < cols; c++)
            if (p[c] > top) top = p[c];
        for (int c = 0; c < cols; c++) {
            p[c] = expf(p[c] - top);
            sum += p[c];
        }
        for (int c = 0; c < cols; c++)
            p[c] /= sum;
    }
}

static void normalise(float *restrict out, const float *restrict x, const float *restrict g, int rows, int size)
{
    /* nest: rms */
    for (int r = 0; r < rows; r++) {
        float ss = 0.0f;
        for (int j = 0; j < size; j++)
            ss += x[r * size + j] * x[r * size + j];
        ss = 1.0f / sqrtf(ss / size + 1e-5f);
        for (int j = 0; j < size; j++)
            out[r * size + j] = g[j] * (ss * x[r * size + j]);
    }
}

int main(int argc, char **argv)
{
    enum { IN = 24, MID = 20, OUT = 6 };
    int batch = argc > 1 ? atoi(argv[1]) : 8;
    float *w = malloc(sizeof(float) * (IN * MID + MID * OUT + MID + OUT + IN));
    for (int i = 0; i < IN * MID + MID * OUT + MID + OUT + IN; i++) w[i] = (float)(i * 31 % 41 - 20) / 60;
    struct model m = {2, {{IN, MID, w, w + IN * MID + MID * OUT}, {MID, OUT, w + IN * MID, w + IN * MID + MID * OUT + MID}}, 0};
    float *x = malloc(sizeof(float) * batch * IN), *y = malloc(sizeof(float) * batch * MID), *z = malloc(sizeof(float) * batch * OUT);
    float *n = calloc(batch * IN, sizeof(float));
    for (int i = 0; i < batch * IN; i++) x[i] = (float)(i % 13) / 6 - 1;
    normalise(n, x, w + IN * MID, batch, IN);
    linear(&m.layer[0], n, y, batch);
    relu(y, batch * MID);
    linear(&m.layer[1], y, z, batch);
    softmax(z, batch, OUT);
    double s = 0;
    for (int i = 0; i < batch * OUT; i++) s += z[i] * (i % 7);
    printf("network %.4f\n", s);
    return 0;
}
