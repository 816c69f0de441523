// n=9
void f(int n, int A[n], int B[n]) {
#pragma scop
  for (int i = 0; i < n; ++i) { if (A[i] > 3) { if (B[i] > 2) goto L; A[i] = 1; } P: B[i] = A[i]; L: A[i] += 1; }
#pragma endscop
}
