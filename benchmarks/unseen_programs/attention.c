#include <math.h>

/* softmax(Q K^T / sqrt(d)) for several heads. */
void attention(int heads, int len, int d, const float q[heads][len][d], const float k[heads][len][d],
               float p[heads][len][len])
{
#pragma scop
  for (int h = 0; h < heads; h++)
    for (int i = 0; i < len; i++) {
      for (int j = 0; j < len; j++) {
        float dot = 0.0f;
        for (int c = 0; c < d; c++)
          dot += q[h][i][c] * k[h][j][c];
        p[h][i][j] = dot / sqrtf(d);
      }
      float top = p[h][i][0];
      for (int j = 1; j < len; j++)
        if (p[h][i][j] > top)
          top = p[h][i][j];
      float total = 0.0f;
      for (int j = 0; j < len; j++) {
        p[h][i][j] = expf(p[h][i][j] - top);
        total += p[h][i][j];
      }
      for (int j = 0; j < len; j++)
        p[h][i][j] /= total;
    }
#pragma endscop
}
