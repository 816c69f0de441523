// no sizes
#define N 12
typedef float real;
real arr[N][N], w[N];
real dot(const real a[N], const real *b) { real s = 0.f; int i = 0; for (; i < N; i++) s = s + a[i] * b[i]; return s; }
int main() {
  int i, j;
#pragma scop
  for (i = 0; i < N; i++) for (j = 0; j < N; j++) arr[i][j] += dot(arr[i], w);
#pragma endscop
  return 0;
}
