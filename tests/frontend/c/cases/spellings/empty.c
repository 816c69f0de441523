// n=6
void f(int n, double a[n]) {
#pragma scop
  ;
  {}
  for (int i = 0; i < n; i++) ;
  for (int i = 0; i < n; i++) { ; { ; } a[i] = i;; }
  if (n > 3) ; else a[0] = 2;
#pragma endscop
}
