#include "imager.h"
#include <stdlib.h>
#include <pthread.h>
#include <sys/types.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static off_t allocated;

imager_frame *imager_new(int32_t width, int32_t height)
{
    imager_frame *f = (imager_frame *)malloc(sizeof *f);
    f->width = width;
    f->height = height;
    f->pitch = (size_t)(width + 7) & ~(size_t)7;
    f->px = (float *)calloc(f->pitch * (size_t)height, sizeof(float));
    pthread_mutex_lock(&guard);
    allocated += (off_t)(f->pitch * (size_t)height);
    pthread_mutex_unlock(&guard);
    return f;
}

void imager_delete(imager_frame *f)
{
    free(f->px);
    free(f);
}

float imager_mean(const imager_frame *f)
{
    double s = 0;
    /* nest: mean */
    for (int32_t y = 0; y < f->height; y++)
        for (int32_t x = 0; x < f->width; x++)
            s += f->px[y * f->pitch + x];
    return (float)(s / ((double)f->width * f->height));
}
