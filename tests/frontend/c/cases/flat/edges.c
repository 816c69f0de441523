// nx=6,ny=5
// The second and the last but one element of a row: rows have two at least.
void edges(int nx, int ny, double *a) {
#pragma scop
  for (int j = 0; j < nx; ++j) {
    a[j] = a[nx + j];
    a[(ny - 1) * nx + j] = a[(ny - 2) * nx + j];
  }
  for (int i = 0; i < ny; ++i) {
    a[i * nx] = a[i * nx + 1];
    a[i * nx + nx - 1] = a[i * nx + nx - 2];
  }
#pragma endscop
}
