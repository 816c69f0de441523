// n=9
void f(int n, double a[n], int k[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    switch (k[i]) { case 1: continue; case 2: a[i] = 1; }
    a[i] += 2;
  }
#pragma endscop
}
