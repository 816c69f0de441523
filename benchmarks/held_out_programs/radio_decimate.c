/* A radio's channel filter: 48 taps in Q15, one of four samples is kept, real and imaginary parts
 * alternate. Results that do not fit 16 bits stay at the end of the range.
 *
 *   radio_decimate [outputs]
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define TAPS 48
#define KEEP 4

static inline int16_t saturate(int32_t x)
{
  if (x > 32767)
    return 32767;
  if (x < -32768)
    return -32768;
  return (int16_t)x;
}

static void decimate(int outputs, const int16_t *restrict iq, const int16_t taps[TAPS], int16_t *restrict out)
{
#pragma scop
sample:
  for (int n = 0; n < outputs; n++) {
    int32_t re = 1 << 14, im = 1 << 14;
  tap:
    for (int k = 0; k < TAPS; k++) {
      re += iq[2 * (KEEP * n + k)] * taps[k];
      im += iq[2 * (KEEP * n + k) + 1] * taps[k];
    }
    out[2 * n] = saturate(re >> 15);
    out[2 * n + 1] = saturate(im >> 15);
  }
#pragma endscop
}

int main(int argc, char **argv)
{
  int outputs = argc > 1 ? atoi(argv[1]) : 100;
  int samples = KEEP * outputs + TAPS;
  int16_t *iq = malloc(sizeof(int16_t) * 2 * (size_t)samples);
  int16_t *out = malloc(sizeof(int16_t) * 2 * (size_t)outputs);
  int16_t taps[TAPS];
  if (!iq || !out)
    return 1;
  for (int k = 0; k < TAPS; k++)
    taps[k] = (int16_t)((k < TAPS / 2 ? k : TAPS - 1 - k) * 52 - 200);
  for (int i = 0; i < 2 * samples; i++)
    iq[i] = (int16_t)((i * 7919) % 60001 - 30000);
  decimate(outputs, iq, taps, out);
  long sum = 0;
  for (int n = 0; n < 2 * outputs; n++)
    sum += out[n] * (n % 7 - 2);
  printf("%ld\n", sum);
  free(iq);
  free(out);
  return 0;
}
