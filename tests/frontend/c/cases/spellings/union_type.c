// refused: union u
union u { int i; float f; };
void f(int n, union u a[n]) {
#pragma scop
  for (int i = 0; i < n; ++i) a[i].f = 1;
#pragma endscop
}
