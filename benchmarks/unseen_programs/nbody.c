#include <math.h>

struct body { double x, y, z, m; };

/* Forces of all pairs, softened, and a step of positions. */
void nbody(int n, struct body p[n], double vx[n], double vy[n], double vz[n], double dt)
{
  const double eps = 0.01;
#pragma scop
  for (int i = 0; i < n; i++) {
    double ax = 0, ay = 0, az = 0;
    for (int j = 0; j < n; j++) {
      double dx = p[j].x - p[i].x;
      double dy = p[j].y - p[i].y;
      double dz = p[j].z - p[i].z;
      double r2 = dx * dx + dy * dy + dz * dz + eps;
      double inv = p[j].m / (r2 * sqrt(r2));
      ax += dx * inv;
      ay += dy * inv;
      az += dz * inv;
    }
    vx[i] += dt * ax;
    vy[i] += dt * ay;
    vz[i] += dt * az;
  }
  for (int i = 0; i < n; i++) {
    p[i].x += dt * vx[i];
    p[i].y += dt * vy[i];
    p[i].z += dt * vz[i];
  }
#pragma endscop
}
