#include <math.h>

/* Gradient magnitude of an image, flat pixels. */
void sobel(const float *img, float *mag, int height, int width)
{
#pragma scop
  for (int i = 1; i < height - 1; i++) {
    for (int j = 1; j < width - 1; j++) {
      float gx = img[(i - 1) * width + j + 1] - img[(i - 1) * width + j - 1]
               + 2.0f * (img[i * width + j + 1] - img[i * width + j - 1])
               + img[(i + 1) * width + j + 1] - img[(i + 1) * width + j - 1];
      float gy = img[(i + 1) * width + j - 1] - img[(i - 1) * width + j - 1]
               + 2.0f * (img[(i + 1) * width + j] - img[(i - 1) * width + j])
               + img[(i + 1) * width + j + 1] - img[(i - 1) * width + j + 1];
      mag[i * width + j] = sqrtf(gx * gx + gy * gy);
    }
  }
#pragma endscop
}
