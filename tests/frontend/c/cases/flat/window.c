// h=8 w=7 r=2
// Rows of 2 r + 1, in which r is the middle.
void window(int h, int w, int r, float *in, float *out, float *f) {
#pragma scop
  for (int y = r; y < h - r; y++)
    for (int x = r; x < w - r; x++) {
      float s = 0;
      for (int dy = -r; dy <= r; dy++)
        for (int dx = -r; dx <= r; dx++)
          s += in[(y + dy) * w + x + dx] * f[(dy + r) * (2 * r + 1) + dx + r];
      out[y * w + x] = s;
    }
#pragma endscop
}
