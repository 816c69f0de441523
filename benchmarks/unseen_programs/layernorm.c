#include <math.h>

/* Layer norm over the last dimension, flat tensors. */
void layernorm(int rows, int width, const float *x, float *y, const float *gain, const float *bias)
{
#pragma scop
  for (int r = 0; r < rows; r++) {
    float mean = 0.0f;
    for (int c = 0; c < width; c++)
      mean += x[r * width + c];
    mean /= width;
    float var = 0.0f;
    for (int c = 0; c < width; c++)
      var += (x[r * width + c] - mean) * (x[r * width + c] - mean);
    var /= width;
    float rstd = 1.0f / sqrtf(var + 1e-5f);
    for (int c = 0; c < width; c++)
      y[r * width + c] = (x[r * width + c] - mean) * rstd * gain[c] + bias[c];
  }
#pragma endscop
}
