#include <stdio.h>
#include <stdlib.h>

typedef float dat_t;

#define IFM 8
#define OFM 12
#define SZ  14
#define K   3

/* A layer with ReLU and pooling of 2 x 2, arrays as ports. */
void conv_top(dat_t in[IFM][SZ + K - 1][SZ + K - 1], dat_t wt[OFM][IFM][K][K], dat_t bias[OFM],
              dat_t out[OFM][SZ][SZ], dat_t pooled[OFM][SZ / 2][SZ / 2])
{
#pragma HLS INTERFACE m_axi port=in
#pragma HLS INTERFACE m_axi port=out
    /* nest: conv */
    OUT: for (int o = 0; o < OFM; o++) {
        ROW: for (int r = 0; r < SZ; r++) {
            COL: for (int c = 0; c < SZ; c++) {
#pragma HLS PIPELINE II=1
                dat_t acc = bias[o];
                IN: for (int i = 0; i < IFM; i++)
                    for (int y = 0; y < K; y++)
                        for (int x = 0; x < K; x++)
                            acc += in[i][r + y][c + x] * wt[o][i][y][x];
                out[o][r][c] = acc > 0 ? acc : 0;
            }
        }
    }

    /* nest: pool */
    for (int o = 0; o < OFM; o++)
        for (int r = 0; r < SZ; r += 2)
            for (int c = 0; c < SZ; c += 2) {
                dat_t m = out[o][r][c];
                for (int d = 1; d < 4; d++) {
                    dat_t v = out[o][r + (d >> 1)][c + (d & 1)];
                    if (v > m)
                        m = v;
                }
                pooled[o][r / 2][c / 2] = m;
            }
}

int main(int argc, char **argv)
{
    static dat_t in[IFM][SZ + K - 1][SZ + K - 1], wt[OFM][IFM][K][K], bias[OFM];
    static dat_t out[OFM][SZ][SZ], pooled[OFM][SZ / 2][SZ / 2];
    int seed = argc > 1 ? atoi(argv[1]) : 1;
    dat_t *p = &in[0][0][0];
    for (size_t i = 0; i < sizeof in / sizeof *p; i++)
        p[i] = (dat_t)((int)(i * 2654435761u >> 24) - 128 + seed) / 64;
    p = &wt[0][0][0][0];
    for (size_t i = 0; i < sizeof wt / sizeof *p; i++)
        p[i] = (dat_t)((int)(i * 40503u >> 4 & 127) - 64) / 128;
    conv_top(in, wt, bias, out, pooled);
    double s = 0;
    for (int o = 0; o < OFM; o++)
        for (int r = 0; r < SZ / 2; r++)
            for (int c = 0; c < SZ / 2; c++)
                s += pooled[o][r][c] * (o + 1);
    printf("conv_layer %.4f\n", s);
    return 0;
}
