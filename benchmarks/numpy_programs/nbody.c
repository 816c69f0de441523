/* Forces between all pairs of bodies. */
#include <math.h>
void nbody(int n, double pos[n][3], double mass[n], double acc[n][3]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    double ax = 0.0, ay = 0.0, az = 0.0;
    for (int j = 0; j < n; j++) {
      double dx = pos[j][0] - pos[i][0];
      double dy = pos[j][1] - pos[i][1];
      double dz = pos[j][2] - pos[i][2];
      double r2 = dx * dx + dy * dy + dz * dz + 0.01;
      double w = mass[j] / (r2 * sqrt(r2));
      ax += w * dx;
      ay += w * dy;
      az += w * dz;
    }
    acc[i][0] = ax;
    acc[i][1] = ay;
    acc[i][2] = az;
  }
#pragma endscop
}
