/* Equalizer of a mixing desk: every channel goes through its bands, one second-order section after
 * the other, a block of samples at a time. Sections keep their state from block to block.
 *
 *   mixer_biquads [channels samples]
 */
#include <stdio.h>
#include <stdlib.h>

#define BANDS 5

struct section {
  float b0, b1, b2, a1, a2;
  float z1, z2;
};

void equalizer(int channels, int samples, struct section s[channels][BANDS], float audio[channels][samples])
{
#pragma scop
  for (int ch = 0; ch < channels; ch++)
    for (int k = 0; k < BANDS; k++)
      for (int t = 0; t < samples; t++) {
        float x = audio[ch][t];
        float y = s[ch][k].b0 * x + s[ch][k].z1;
        s[ch][k].z1 = s[ch][k].b1 * x - s[ch][k].a1 * y + s[ch][k].z2;
        s[ch][k].z2 = s[ch][k].b2 * x - s[ch][k].a2 * y;
        audio[ch][t] = y;
      }
#pragma endscop
}

int main(int argc, char **argv)
{
  int channels = argc > 1 ? atoi(argv[1]) : 4, samples = argc > 2 ? atoi(argv[2]) : 64;
  struct section (*s)[BANDS] = calloc((size_t)channels, sizeof *s);
  float (*audio)[samples] = malloc(sizeof(float[channels][samples]));
  if (!s || !audio)
    return 1;
  for (int ch = 0; ch < channels; ch++) {
    for (int k = 0; k < BANDS; k++)
      s[ch][k] = (struct section){0.9f, -0.3f + 0.05f * (float)k, 0.1f, -0.4f, 0.15f + 0.01f * (float)(ch % 8), 0, 0};
    for (int t = 0; t < samples; t++)
      audio[ch][t] = (float)((t * (ch + 3)) % 41 - 20) / 20.0f;
  }
  equalizer(channels, samples, s, audio);
  double sum = 0;
  for (int ch = 0; ch < channels; ch++)
    for (int t = 0; t < samples; t++)
      sum += (double)audio[ch][t] * (t % 4 + 1);
  printf("%.3f\n", sum);
  free(s);
  free(audio);
  return 0;
}
