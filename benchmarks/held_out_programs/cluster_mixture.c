/* Which cluster a measurement belongs to, in shares: Gaussians with a width in each direction. The
 * greatest logarithm is taken off before exponentials are added up.
 *
 *   cluster_mixture [points groups dims]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void shares(int points, int groups, int dims, double x[points][dims], double centre[groups][dims],
                   double width[groups][dims], double prior[groups], double share[points][groups],
                   double *likelihood)
{
  double total = 0.0;
#pragma scop
  for (int p = 0; p < points; p++) {
    double greatest = -1e300;
    for (int g = 0; g < groups; g++) {
      double score = log(prior[g]);
      for (int d = 0; d < dims; d++) {
        double z = (x[p][d] - centre[g][d]) / width[g][d];
        score -= 0.5 * z * z + log(width[g][d]);
      }
      share[p][g] = score;
      if (score > greatest)
        greatest = score;
    }
    double sum = 0.0;
    for (int g = 0; g < groups; g++) {
      share[p][g] = exp(share[p][g] - greatest);
      sum += share[p][g];
    }
    for (int g = 0; g < groups; g++)
      share[p][g] /= sum;
    total += greatest + log(sum);
  }
#pragma endscop
  *likelihood = total;
}

int main(int argc, char **argv)
{
  int points = argc > 1 ? atoi(argv[1]) : 100;
  int groups = argc > 2 ? atoi(argv[2]) : 5, dims = argc > 3 ? atoi(argv[3]) : 4;
  double (*x)[dims] = malloc(sizeof(double[points][dims]));
  double (*centre)[dims] = malloc(sizeof(double[groups][dims]));
  double (*width)[dims] = malloc(sizeof(double[groups][dims]));
  double (*share)[groups] = malloc(sizeof(double[points][groups]));
  double *prior = malloc(sizeof(double) * (size_t)groups);
  double likelihood;
  if (!x || !centre || !width || !share || !prior)
    return 1;
  for (int p = 0; p < points; p++)
    for (int d = 0; d < dims; d++)
      x[p][d] = (p * 13 + d * 7) % 50 * 0.1;
  for (int g = 0; g < groups; g++) {
    prior[g] = 1.0 / groups;
    for (int d = 0; d < dims; d++) {
      centre[g][d] = (g * 11 + d * 3) % 50 * 0.1;
      width[g][d] = 0.5 + (g + d) % 3 * 0.25;
    }
  }
  shares(points, groups, dims, x, centre, width, prior, share, &likelihood);
  printf("%.7f %.7f\n", likelihood, share[0][0]);
  free(x);
  free(centre);
  free(width);
  free(share);
  free(prior);
  return 0;
}
