#include "imager.h"
#include <string.h>

static const float kernel[3][3] = {{1, 2, 1}, {2, 4, 2}, {1, 2, 1}};

void imager_convolve3(const imager_frame *in, imager_frame *out)
{
    /* nest: convolve */
    for (int y = 1; y < in->height - 1; y++) {
        for (int x = 1; x < in->width - 1; x++) {
            float acc = 0;
            for (int j = -1; j <= 1; j++)
                for (int i = -1; i <= 1; i++)
                    acc += kernel[j + 1][i + 1] * in->px[(y + j) * in->pitch + x + i];
            out->px[y * out->pitch + x] = acc / 16;
        }
    }
}

void imager_sharpen(const imager_frame *in, imager_frame *out)
{
    const float *src = in->px;
    float *dst = out->px;
    const int w = in->width, h = in->height, p = (int)in->pitch;
    /* nest: sharpen */
    for (int y = 1; y < h - 1; y++)
        for (int x = 1; x < w - 1; x++) {
            const int at = y * p + x;
            float v = 5 * src[at] - src[at - 1] - src[at + 1] - src[at - p] - src[at + p];
            dst[at] = v < 0 ? 0 : v > 255 ? 255 : v;
        }
}

void imager_histogram(const imager_frame *f, unsigned *bins, int count)
{
    memset(bins, 0, count * sizeof *bins);
    /* nest: histogram */
    for (int y = 0; y < f->height; y++)
        for (int x = 0; x < f->width; x++) {
            int b = (int)(f->px[y * f->pitch + x] * count / 256);
            bins[b]++;
        }
}
