// n=19
void f(int n, double a[n]) {
#pragma scop
  for (int i = n - 1; i >= 0; i += -2) a[i] = i;
#pragma endscop
}
