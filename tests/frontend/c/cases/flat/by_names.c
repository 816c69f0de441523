// n=6 m=4
static inline int place(int row, int column, int width) { return row * width + column; }
void by_names(int n, int m, double *a, double *b, double *c) {
  int at;
#pragma scop
  for (int i = 0; i < n; i++) {
    const int row = i * m;
    double *mine = b + i * m;
    for (int j = 0; j < m; j++) {
      at = row + j;
      a[at] = mine[j] * c[place(i, j, m)];
      mine[j] = a[place(i, 0, m)];
    }
  }
#pragma endscop
}
