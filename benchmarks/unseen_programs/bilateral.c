/* Edge-preserving smoothing: weights fall with the difference of values (rational instead of exp). */
void bilateral(int h, int w, const float *in, float *out)
{
  const float space[3] = {1.0f, 0.6f, 0.15f};
#pragma scop
  for (int x = 2; x < w - 2; x++)
    for (int y = 2; y < h - 2; y++) {
      float num = 0.0f, den = 0.0f;
      const float centre = in[y * w + x];
      for (int v = -2; v <= 2; v++)
        for (int u = -2; u <= 2; u++) {
          const float p = in[(y + v) * w + x + u];
          const float g = space[v < 0 ? -v : v] * space[u < 0 ? -u : u]
                          / (1.0f + 20.0f * (p - centre) * (p - centre));
          num += g * p;
          den += g;
        }
      out[y * w + x] = num / den;
    }
#pragma endscop
}
