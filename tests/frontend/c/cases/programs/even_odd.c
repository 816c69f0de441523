// n=12
void f(int n, float a[n]) {
#pragma scop
  for (int t = 0; t < n; t++) for (int i = t & 1; i < n - 1; i += 2) { if (a[i] > a[i + 1]) { float s = a[i]; a[i] = a[i + 1]; a[i + 1] = s; } }
#pragma endscop
}
