// n=4
void f(int n, double a[n]) {
#pragma scop
  for (int i = 0; i < n; i++) a[i] = 0x1.8p3 + 1e-3 + .5e2 + 5. + 017 + 0xFFu + 'A' + '\n' + '\0' + 100UL + 1.0F;
#pragma endscop
}
