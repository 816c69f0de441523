// n=5 m=-3
// With m = -3 neither loop runs.
void steps_below_zero(int n, int m, int y[1]) {
#pragma scop
  y[0] += 1;
  for (int k = 0; k < n * m; k += m)
    y[0] += k + 7;
  for (int k = n * m; k > 0; k -= m)
    y[0] += 3;
#pragma endscop
}
