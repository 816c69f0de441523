// n=8
void f(int n, float a[n]) {
#pragma scop
  for (int i = 0; i < n - 1; i++) for (int j = 0; j < n - 1 - i; j++) if (a[j] > a[j + 1]) { float s = a[j]; a[j] = a[j + 1]; a[j + 1] = s; }
#pragma endscop
}
