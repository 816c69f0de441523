/* Least squares for many sensors at once: a Householder factorization of each small matrix, eight
 * equations in four unknowns. Matrices lie one behind the other.
 *
 *   small_qr [batch]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ROWS 8
#define COLS 4

void factor_all(int batch, double a[batch][ROWS][COLS], double beta[batch][COLS])
{
#pragma scop
  for (int b = 0; b < batch; b++)
    for (int k = 0; k < COLS; k++) {
      double norm = 0.0;
      for (int i = k; i < ROWS; i++)
        norm += a[b][i][k] * a[b][i][k];
      norm = sqrt(norm);
      double head = a[b][k][k] + (a[b][k][k] < 0.0 ? -norm : norm);
      double diagonal = a[b][k][k] < 0.0 ? norm : -norm;
      beta[b][k] = 1.0 / (norm * fabs(head));
      a[b][k][k] = head;
      for (int j = k + 1; j < COLS; j++) {
        double dot = 0.0;
        for (int i = k; i < ROWS; i++)
          dot += a[b][i][k] * a[b][i][j];
        for (int i = k; i < ROWS; i++)
          a[b][i][j] -= beta[b][k] * dot * a[b][i][k];
      }
      a[b][k][k] = diagonal;
    }
#pragma endscop
}

int main(int argc, char **argv)
{
  int batch = argc > 1 ? atoi(argv[1]) : 50;
  double (*a)[ROWS][COLS] = malloc(sizeof(double[batch][ROWS][COLS]));
  double (*beta)[COLS] = malloc(sizeof(double[batch][COLS]));
  if (!a || !beta)
    return 1;
  for (int b = 0; b < batch; b++)
    for (int i = 0; i < ROWS; i++)
      for (int j = 0; j < COLS; j++)
        a[b][i][j] = 1.0 + (b % 31 + 7 * i + 13 * j * i) % 17 - 4.0 * (i == j);
  factor_all(batch, a, beta);
  double sum = 0.0;
  for (int b = 0; b < batch; b++)
    for (int k = 0; k < COLS; k++)
      sum += fabs(a[b][k][k]) + beta[b][k];
  printf("%.8f\n", sum);
  free(a);
  free(beta);
  return 0;
}
