// n=9
void f(int n, int a[n], unsigned b[n], long c[n], float y[n]) {
#pragma scop
  for (int i = 0; i < n; i++) { a[i] = a[i] > b[i] - 50 ? -1 : 1; b[i] = -a[i]; c[i] = b[i] + 1; c[i] += a[i] * 3u; y[i] = b[i]; a[i] = (int)(b[i] >> 1) % 1000; c[i] = c[i] < b[i]; a[i] += (a[i] < -1u) + (c[i] < -1u); b[i] = b[i] ? b[i] : a[i]; b[i] /= -3; }
#pragma endscop
}
