// n=7
#include <math.h>
void step(int n, double x[n], double y[n], double vx[n], double vy[n], double m[n], double dt)
{
#pragma scop
    for (int i = 0; i < n; i++) {
        double fx = 0, fy = 0;
        for (int j = 0; j < n; j++) {
            if (i == j) continue;
            double dx = x[j] - x[i], dy = y[j] - y[i];
            double d2 = dx*dx + dy*dy + 1e-9;
            double inv = 1.0 / sqrt(d2);
            double f = m[j] * inv * inv * inv;
            fx += f * dx; fy += f * dy;
        }
        vx[i] += dt * fx; vy[i] += dt * fy;
    }
#pragma endscop
}
