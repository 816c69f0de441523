// n=9 
void f(int n, double a[4], double b[n]) {
  int at = 0;
#pragma scop
  for (int i = 0; i < n; i++) { a[at] += b[i]; at = (at + 1) % 4; }
#pragma endscop
}
