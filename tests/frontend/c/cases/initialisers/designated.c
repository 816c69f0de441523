// no sizes
static const int w[] = {[1] = 2, 7, [3] = 5, [1] = 4}; static const int d[3][2] = {[1] = {4}, {[1] = 3}};
void f(int n, double a[4]) {
#pragma scop
  for (int i = 0; i < 4; i++) a[i] = w[i];
  for (int i = 0; i < 3; i++) a[i] += d[i][0] * 10 + d[i][1];
#pragma endscop
}
