/* American puts on binomial trees, one option after the other. */
#include <math.h>
void binomial(int options, int n, double spot[options], double strike[options],
              double v[options][n + 1], double price[options])
{
  const double up = 1.002, down = 1.0 / 1.002, p = 0.5003, disc = 0.99995;
#pragma scop
  for (int o = 0; o < options; o++) {
    for (int i = 0; i <= n; i++)
      v[o][i] = fmax(0.0, strike[o] - spot[o] * (1.0 + 0.002 * (2 * i - n)));
    for (int t = n - 1; t >= 0; t--)
      for (int i = 0; i <= t; i++) {
        double held = disc * (p * v[o][i + 1] + (1.0 - p) * v[o][i]);
        double exercised = strike[o] - spot[o] * (1.0 + 0.002 * (2 * i - t));
        v[o][i] = held > exercised ? held : exercised;
      }
    price[o] = v[o][0];
  }
#pragma endscop
}
