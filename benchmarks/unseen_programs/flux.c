/* Euler's equations along a line, Rusanov fluxes at faces, then cells; 3 unknowns, arrays of structs' parts. */
#include <math.h>
void flux(int steps, int n, double rho[n], double mom[n], double ene[n],
          double frho[n], double fmom[n], double fene[n])
{
  const double lambda = 0.01;
  int t, i;
  double ul, ur, pl, pr, a;
#pragma scop
  for (t = 0; t < steps; t++) {
    for (i = 0; i < n - 1; i++) {
      ul = mom[i] / (rho[i] + 1.0);
      ur = mom[i + 1] / (rho[i + 1] + 1.0);
      pl = 0.4 * (ene[i] + 2.0 - 0.5 * mom[i] * ul);
      pr = 0.4 * (ene[i + 1] + 2.0 - 0.5 * mom[i + 1] * ur);
      a = fabs(ul) > fabs(ur) ? fabs(ul) + 1.0 : fabs(ur) + 1.0;
      frho[i] = 0.5 * (mom[i] + mom[i + 1]) - 0.5 * a * (rho[i + 1] - rho[i]);
      fmom[i] = 0.5 * (mom[i] * ul + pl + mom[i + 1] * ur + pr) - 0.5 * a * (mom[i + 1] - mom[i]);
      fene[i] = 0.5 * ((ene[i] + pl) * ul + (ene[i + 1] + pr) * ur) - 0.5 * a * (ene[i + 1] - ene[i]);
    }
    for (i = 1; i < n - 1; i++) {
      rho[i] -= lambda * (frho[i] - frho[i - 1]);
      mom[i] -= lambda * (fmom[i] - fmom[i - 1]);
      ene[i] -= lambda * (fene[i] - fene[i - 1]);
    }
  }
#pragma endscop
}
