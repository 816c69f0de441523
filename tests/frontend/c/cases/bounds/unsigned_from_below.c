// refused: a loop bound depends on data
// k = -1 is large beside something unsigned: where it starts matters.
void unsigned_from_below(int n, int m, unsigned to[n], double x[m]) {
  int from[4] = {-1, 0, 1, 2};
#pragma scop
  for (int i = 0; i < n; i++)
    for (int k = from[0]; k < to[i]; k++)
      x[k + 1] += 1;
#pragma endscop
}
