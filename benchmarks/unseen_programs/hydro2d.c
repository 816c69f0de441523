/* Explicit hydrodynamics in two dimensions, as in the Livermore loops' spirit: velocities from pressures
   and viscosities, then positions from velocities. */
#include <assert.h>
#define K 1024
double za[K][K], zb[K][K], zu[K][K], zv[K][K], zr[K][K], zz[K][K], zp[K][K], zq[K][K], zm[K][K];

void hydro2d(int n, int m)
{
  double s = 0.0041, t = 0.0037;
  int j, k;
  assert(n < K && m < K);
#pragma scop
  for (j = 1; j < m; j++)
    for (k = 1; k < n; k++) {
      za[k][j] = (zp[k + 1][j - 1] + zq[k + 1][j - 1] - zp[k][j - 1] - zq[k][j - 1])
               * (zr[k][j] + zr[k][j - 1]) / (zm[k][j - 1] + zm[k + 1][j - 1] + 1.0);
      zb[k][j] = (zp[k][j - 1] + zq[k][j - 1] - zp[k][j] - zq[k][j])
               * (zr[k][j] + zr[k - 1][j]) / (zm[k][j] + zm[k][j - 1] + 1.0);
    }
  for (j = 1; j < m; j++)
    for (k = 1; k < n; k++) {
      zu[k][j] += s * (za[k][j] * (zz[k][j] - zz[k][j + 1]) - za[k][j - 1] * (zz[k][j] - zz[k][j - 1])
                - zb[k][j] * (zz[k][j] - zz[k - 1][j]) + zb[k + 1][j] * (zz[k][j] - zz[k + 1][j]));
      zv[k][j] += s * (za[k][j] * (zr[k][j] - zr[k][j + 1]) - za[k][j - 1] * (zr[k][j] - zr[k][j - 1])
                - zb[k][j] * (zr[k][j] - zr[k - 1][j]) + zb[k + 1][j] * (zr[k][j] - zr[k + 1][j]));
    }
  for (j = 1; j < m; j++)
    for (k = 1; k < n; k++) {
      zr[k][j] = zr[k][j] + t * zu[k][j];
      zz[k][j] = zz[k][j] + t * zv[k][j];
    }
#pragma endscop
}
