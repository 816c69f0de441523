// n=11
void f(int n, double a[n], int kept[1]) {
  int k = 0;
#pragma scop
  for (int i = 0; i < n; i++) {
    if (i % 3 == 0) continue;
    a[k] = a[i];
    if (a[i] < 0.4) continue;
    k++;
  }
  kept[0] = k;
#pragma endscop
}
