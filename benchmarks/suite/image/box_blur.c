#include <stdio.h>
#include <string.h>
#include "picture.h"

/* Blur of radius r, first along lines, then along columns. */
static void blur(const Picture *src, Picture *tmp, Picture *dst, int r)
{
    int x, y, k;
    int w = src->width, h = src->height;
    int n = 2 * r + 1;

    /* nest: lines */
    for (y = 0; y < h; y++) {
        for (x = r; x < w - r; x++) {
            int sum = 0;
            for (k = -r; k <= r; k++)
                sum += AT(src, x + k, y);
            AT(tmp, x, y) = (pixel)(sum / n);
        }
    }
    /* nest: columns */
    for (y = r; y < h - r; y++) {
        for (x = 0; x < w; x++) {
            int sum = 0;
            for (k = -r; k <= r; k++)
                sum += AT(tmp, x, y + k);
            AT(dst, x, y) = (pixel)(sum / n);
        }
    }
}

int main(int argc, char **argv)
{
    int w = argc > 1 ? atoi(argv[1]) : 97, h = argc > 2 ? atoi(argv[2]) : 61;
    Picture *a = picture_new(w, h), *b = picture_new(w, h), *c = picture_new(w, h);
    unsigned long sum = 0;
    for (int i = 0; i < w * h; i++)
        a->data[i] = (pixel)(i * 31 ^ i >> 4);
    blur(a, b, c, 2);
    for (int i = 0; i < w * h; i++)
        sum = sum * 131 + c->data[i];
    printf("box_blur %lu\n", sum);
    picture_free(a);
    picture_free(b);
    picture_free(c);
    return 0;
}
