// n=6
#define SWAP(a, b) do { double t_ = (a); (a) = (b); (b) = t_; } while (0)
void f(int n, double a[n], double b[n]) {
#pragma scop
  for (int i = 0; i < n; i++) SWAP(a[i], b[i]);
#pragma endscop
}
