// n=11 m=7
enum e { A, B = 4 };
static int two(int x) { if (x > 3) return 2; return x; }
void f(int n, int m, int a[n], int b[n], unsigned char c[n], unsigned u[n]) {
  int s = 0, k = 0;
#pragma scop
  for (int i = 0; i < n; i++) switch (i) { case 0: a[i] = 1; break; case 3: case 4: a[i] = 2; break; default: a[i] = 3; }
  for (int i = 0; i < n; i++) { switch (b[i] % 4) { case 0: a[i] += 1; break; case 1: a[i] += 5; case 2: a[i] *= 2; break; default: a[i] = 3; break; } a[i]++; }
  for (int i = 0; i < n; i++) { switch (c[i] & 7) { case A: c[i] = 4; default: s++; case B: { c[i] += 2; a[i] += s; break; } case 'a' - 96: for (int j = 0; j < 3; j++) a[i] -= j; } }
  for (int i = 0; i < n; i++) switch (m) { case 7: switch (i % 3) { case 0: a[i] = 0; break; case -1: a[i] = 9; case 2: a[i] += 1; } break; case 8: a[i] = 5; }
  for (int i = 0; i < n; i++) switch (u[i] - 4u) { default: a[i] = 3; case 1: a[i] += 3; break; case -1: a[i] = 4; }
  switch (n) { } switch (n) { case 3: ; case 11: break; default: a[0] = 1; }
  for (int i = 0; i < n; i++) switch (k++ % 3) { case 0: a[i] += k; break; case 2: a[i] = -1; default: a[i] += 3; }
  for (int i = 0; i < n; i++) switch (two(b[i])) { case 0: a[i] += k; break; case 2: a[i] -= 1; default: a[i] += 3; }
#pragma endscop
}
