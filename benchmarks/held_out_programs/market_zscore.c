/* Prices of many assets, a row a day: daily returns, their mean and spread over a window that moves,
 * and how far today is from it.
 *
 *   market_zscore [days assets window]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void zscores(int days, int assets, int window, const double *price, double *gain, double *score)
{
#pragma scop
  for (int d = 1; d < days; d++)
    for (int a = 0; a < assets; a++)
      gain[d * assets + a] = price[d * assets + a] / price[(d - 1) * assets + a] - 1.0;

  for (int a = 0; a < assets; a++)
    for (int d = window; d < days; d++) {
      double mean = 0.0, spread = 0.0;
      for (int k = 0; k < window; k++)
        mean += gain[(d - k) * assets + a];
      mean /= window;
      for (int k = 0; k < window; k++)
        spread += (gain[(d - k) * assets + a] - mean) * (gain[(d - k) * assets + a] - mean);
      spread = sqrt(spread / (window - 1));
      score[d * assets + a] = spread > 1e-12 ? (gain[d * assets + a] - mean) / spread : 0.0;
    }
#pragma endscop
}

int main(int argc, char **argv)
{
  int days = argc > 1 ? atoi(argv[1]) : 50;
  int assets = argc > 2 ? atoi(argv[2]) : 12;
  int window = argc > 3 ? atoi(argv[3]) : 10;
  size_t count = (size_t)days * (size_t)assets;
  double *price = malloc(count * sizeof *price);
  double *gain = calloc(count, sizeof *gain);
  double *score = calloc(count, sizeof *score);
  if (!price || !gain || !score)
    return 1;
  for (int d = 0; d < days; d++)
    for (int a = 0; a < assets; a++)
      price[d * assets + a] = 100.0 + a + (d * 17 + a * 29 + d * a) % 37 * 0.3;
  zscores(days, assets, window, price, gain, score);
  double sum = 0.0;
  for (size_t i = 0; i < count; i++)
    sum += fabs(score[i]);
  printf("%.8f\n", sum);
  free(price);
  free(gain);
  free(score);
  return 0;
}
