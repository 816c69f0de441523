#ifndef IMAGER_H
#define IMAGER_H
#include <stddef.h>
#include <stdint.h>

#define IMAGER_VERSION "1.2"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct imager_frame {
    int32_t width;
    int32_t height;
    size_t pitch;     /* in floats */
    float *restrict px;
} imager_frame;

typedef void (*imager_filter)(const imager_frame *in, imager_frame *out);

imager_frame *imager_new(int32_t width, int32_t height);
void imager_delete(imager_frame *f);
void imager_convolve3(const imager_frame *in, imager_frame *out);
void imager_sharpen(const imager_frame *in, imager_frame *out);
float imager_mean(const imager_frame *f);
void imager_histogram(const imager_frame *f, unsigned *bins, int count);

#ifdef __cplusplus
}
#endif
#endif
