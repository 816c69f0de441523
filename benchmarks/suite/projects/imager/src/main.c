#include <stdio.h>
#include <stdlib.h>
#include "imager.h"

int main(int argc, char **argv)
{
    int w = argc > 1 ? atoi(argv[1]) : 45, h = 31;
    imager_frame *a = imager_new(w, h), *b = imager_new(w, h);
    const imager_filter chain[] = {imager_convolve3, imager_sharpen};
    unsigned bins[8], n = 0;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            a->px[y * a->pitch + x] = (float)((x * 13 + y * 7) % 256);
    chain[0](a, b);
    chain[1](b, a);
    imager_histogram(a, bins, 8);
    for (int i = 0; i < 8; i++) n = n * 10 + bins[i];
    printf("imager %.4f %u\n", imager_mean(a), n);
    imager_delete(a);
    imager_delete(b);
    return 0;
}
