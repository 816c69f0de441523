// n=12
void f(int n, double A[n]) {
#pragma scop
  for (int i = 0; i - 3 < n - 5; i++) A[i] = i;
  for (int i = 1; 2 * i <= n - 1; i++) A[2 * i] += 1;
  for (int i = 0; -i > -n; i++) A[i] += 2;
#pragma endscop
}
