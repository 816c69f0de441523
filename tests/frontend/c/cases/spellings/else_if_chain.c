// n=20
void f(int n, double a[n]) {
#pragma scop
  for (int i = 0; i < n; i++) { if (i < 3) a[i] = 1; else if (i == 5) a[i] = 2; else if (i % 4 == 0) a[i] = 3; else if (a[i] > 0.5) a[i] = 4; else { a[i] = 5; } }
#pragma endscop
}
