/* Prices of options that end when the share reaches a barrier: backwards in time with explicit
 * differences, all contracts of a book on one grid each.
 *
 *   knockout_option [contracts levels steps]
 */
#include <stdio.h>
#include <stdlib.h>

typedef double real;

struct contract {
  real strike, barrier, volatility;
};

void price_book(int contracts, int levels, int steps, const struct contract book[contracts], real rate,
                real dt, real now[contracts][levels], real later[contracts][levels])
{
#pragma scop
  for (int k = 0; k < contracts; k++) {
    for (int s = 0; s < levels; s++)
      later[k][s] = s > book[k].strike && s < book[k].barrier ? s - book[k].strike : 0.0;
    for (int t = 0; t < steps; t++) {
      for (int s = 1; s < levels - 1; s++) {
        real spread = 0.5 * book[k].volatility * book[k].volatility * s * s;
        real drift = 0.5 * rate * s;
        real value = later[k][s]
                     + dt * (spread * (later[k][s + 1] - 2.0 * later[k][s] + later[k][s - 1])
                             + drift * (later[k][s + 1] - later[k][s - 1]) - rate * later[k][s]);
        if (s >= book[k].barrier)
          value = 0.0;
        now[k][s] = value;
      }
      for (int s = 1; s < levels - 1; s++)
        later[k][s] = now[k][s];
    }
  }
#pragma endscop
}

int main(int argc, char **argv)
{
  int contracts = argc > 1 ? atoi(argv[1]) : 6;
  int levels = argc > 2 ? atoi(argv[2]) : 50;
  int steps = argc > 3 ? atoi(argv[3]) : 20;
  struct contract *book = calloc((size_t)contracts, sizeof *book);
  real (*now)[levels] = malloc(sizeof(real[contracts][levels]));
  real (*later)[levels] = malloc(sizeof(real[contracts][levels]));
  if (!book || !now || !later)
    return 1;
  for (int k = 0; k < contracts; k++)
    book[k] = (struct contract){levels * 0.4 + k % 9, levels * 0.85 - k % 5, 0.15 + 0.01 * (k % 8)};
  real dt = 0.5 / (0.22 * 0.22 * levels * levels);
  price_book(contracts, levels, steps, book, 0.03, dt, now, later);
  real sum = 0.0;
  for (int k = 0; k < contracts; k++)
    for (int s = 0; s < levels; s++)
      sum += later[k][s];
  printf("%.8f\n", sum);
  free(book);
  free(now);
  free(later);
  return 0;
}
