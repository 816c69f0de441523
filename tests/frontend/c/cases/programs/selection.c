// n=8
void f(int n, float a[n]) {
#pragma scop
  for (int i = 0; i < n - 1; i++) { int m = i; for (int j = i + 1; j < n; j++) if (a[j] < a[m]) m = j; float s = a[i]; a[i] = a[m]; a[m] = s; }
#pragma endscop
}
