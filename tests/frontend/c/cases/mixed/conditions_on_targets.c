// n=9
void f(int n, double a[n], unsigned char b[n], int c[n], double r[5]) {
  double least = 1e9; unsigned char most = 0; short low = 100; int at = 0;
#pragma scop
  for (int i = 0; i < n; i++) {
    double v = a[i] * 3 - 4;
    if (v < 0) v = 0;
    if (v > 2) { v = 2; }
    if (v < least) least = v;
    a[i] = v;
  }
  for (int i = 0; i < n; i++) {
    if (b[i] > most) most = b[i];
    if (b[i] < low) low = b[i];
    if (b[i] < 200) b[i] += 100;
  }
  for (int i = 0; i < n; i++) {
    if (c[i] + at > 3) at = c[i] - at;
    if (at % 2) at++;
    if (c[i] < at) { { c[i] += 2; } }
  }
  if (least > 1) least = least * 2; else least = -1;
  r[0] = least; r[1] = most; r[2] = low; r[3] = at;
#pragma endscop
}
