// refused: state is of type struct u
int a = 1;
struct u { double a[16]; double t; };
static struct u state;
static double get(int i) {
  double r = state.a[i];
  if (r < 0)
    r = -r + state.t;
  return r;
}
void kernel(int n, double y[n]) {
  int a = 3;
  for (int i = 0; i < 16; i++)
    state.a[i] = i - 8;
#pragma scop
  for (int i = 0; i < n; i++)
    y[i] = get(i % 16) + a;
#pragma endscop
}
