/* L X = B for many right-hand sides, block by block: update a panel with those above it, then solve
 * its own triangle. A block of L is copied first so that it lies together.
 *
 *   panel_solve [blocks sides]
 */
#include <stdio.h>
#include <stdlib.h>

#define NB 32

void panel_solve(int blocks, int sides, double L[NB * blocks][NB * blocks], double X[NB * blocks][sides])
{
  double tile[NB][NB];

#pragma scop
panels:
  for (int p = 0; p < blocks; p++) {
  above:
    for (int q = 0; q < p; q++) {
      for (int i = 0; i < NB; i++)
        for (int k = 0; k < NB; k++)
          tile[i][k] = L[NB * p + i][NB * q + k];
      for (int i = 0; i < NB; i++)
        for (int k = 0; k < NB; k++)
          for (int j = 0; j < sides; j++)
            X[NB * p + i][j] -= tile[i][k] * X[NB * q + k][j];
    }
  triangle:
    for (int i = 0; i < NB; i++) {
      for (int k = 0; k < i; k++)
        for (int j = 0; j < sides; j++)
          X[NB * p + i][j] -= L[NB * p + i][NB * p + k] * X[NB * p + k][j];
      for (int j = 0; j < sides; j++)
        X[NB * p + i][j] /= L[NB * p + i][NB * p + i];
    }
  }
#pragma endscop
}

int main(int argc, char **argv)
{
  int blocks = argc > 1 ? atoi(argv[1]) : 2, sides = argc > 2 ? atoi(argv[2]) : 20;
  int n = NB * blocks;
  double (*L)[n] = malloc(sizeof(double[n][n]));
  double (*X)[sides] = malloc(sizeof(double[n][sides]));
  if (!L || !X)
    return 1;
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < n; k++)
      L[i][k] = i == k ? 4.0 : k < i ? 0.5 / (1 + (i + 3 * k) % 29) : 0.0;
    for (int j = 0; j < sides; j++)
      X[i][j] = (i * 3 + j * 5) % 23 - 11;
  }
  panel_solve(blocks, sides, L, X);
  double sum = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < sides; j++)
      sum += X[i][j] * (j % 3 + 1);
  printf("%.8f\n", sum);
  free(L);
  free(X);
  return 0;
}
