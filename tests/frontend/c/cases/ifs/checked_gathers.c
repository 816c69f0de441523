// n=9
void f(int n, double a[n], int key[n], int hist[40]) {
#pragma scop
  for (int i = 0; i < n; i++) { if (key[i] >= 0 && key[i] < 40) a[i] = hist[key[i]]; else a[i] = -1; }
#pragma endscop
}
