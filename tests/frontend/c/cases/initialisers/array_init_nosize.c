// no sizes
static const int w[] = {1, 2, 3}; static double const d[][2] = {{1, 2}, {3, 4}};
void f(int n, double a[3]) {
  int own[] = {3, 2};
#pragma scop
  for (int i = 0; i < sizeof w / sizeof w[0]; i++) a[i] = w[i];
  for (int i = 0; i < 2; i++) a[i] += d[i][1] + own[i];
#pragma endscop
}
