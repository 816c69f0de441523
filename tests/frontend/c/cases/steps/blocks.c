// n=13 s=4
void blocks(int n, int s, double A[n], double B[n]) {
#pragma scop
  for (int i = 0; i < n; i += s)
    for (int j = i; j < n && j < i + s; j++)
      A[j] += B[i] + j / s + s * i;
  for (int i = n - 1; i >= 0; i -= 2 * s)
    B[i] = A[i] * (i % s);
#pragma endscop
}
