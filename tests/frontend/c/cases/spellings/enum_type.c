// n=6
enum color { RED, GREEN, BLUE };
void f(int n, enum color c[n], double a[n]) {
#pragma scop
  for (int i = 0; i < n; i++) { if (c[i] == GREEN) a[i] = 1; c[i] = BLUE; }
#pragma endscop
}
