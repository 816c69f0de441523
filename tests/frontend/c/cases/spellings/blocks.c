// n=6
void f(int n, double a[n]) {
#pragma scop
  { int i; { for (i = 0; i < n; i++) { { int i = 2; a[i < n ? i : 0] = i; } a[i] += 1; } } }
#pragma endscop
}
