// refused: printf has no body here
#include <stdio.h>
void f(int n, double a[n]) {
#pragma scop
  for (int i = 0; i < n; i++) { a[i] = i; printf("%f\n", a[i]); }
#pragma endscop
}
