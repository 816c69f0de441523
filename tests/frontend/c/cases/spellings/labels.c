// n=6
void f(int n, double a[n]) {
#pragma scop
start:
  for (int i = 0; i < n; i++) {
body: a[i] = i;
  }
end: ;
#pragma endscop
}
