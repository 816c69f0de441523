// refused: a loop bound depends on data
void f(int n, float a[n]) {
#pragma scop
  for (int i = 1; i < n; i++) { float v = a[i]; int j; for (j = i - 1; j >= 0 && a[j] > v; j--) a[j + 1] = a[j]; a[j + 1] = v; }
#pragma endscop
}
