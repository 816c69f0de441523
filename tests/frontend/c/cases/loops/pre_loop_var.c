// n=12
void f(int n, double A[n]) {
  int i = 2, j;
#pragma scop
  for (; i < n; i++) A[i] = i;
  for (j = i - 3; j > 0; j--) A[j] += 1;
#pragma endscop
}
