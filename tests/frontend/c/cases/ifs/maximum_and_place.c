// n=9
void f(int n, double a[n], double mx[1], int id[1]) {
#pragma scop
  mx[0] = a[0]; id[0] = 0;
  for (int i = 1; i < n; i++) if (a[i] > mx[0]) { mx[0] = a[i]; id[0] = i; }
#pragma endscop
}
