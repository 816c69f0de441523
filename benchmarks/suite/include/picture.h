#ifndef PICTURE_H_
#define PICTURE_H_

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef unsigned char pixel;

struct picture {
    int width, height;
    int stride;
    pixel *data;
};

typedef struct picture Picture;

#define AT(p, x, y) ((p)->data[(y) * (p)->stride + (x)])
#define CLAMP(v, lo, hi) ((v) < (lo) ? (lo) : (v) > (hi) ? (hi) : (v))
#ifndef MIN
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif

static inline Picture *picture_new(int width, int height)
{
    Picture *p = malloc(sizeof *p);
    p->width = width;
    p->height = height;
    p->stride = width;
    p->data = calloc((size_t)width * (size_t)height, 1);
    return p;
}

static inline void picture_free(Picture *p)
{
    free(p->data);
    free(p);
}

#endif /* PICTURE_H_ */
