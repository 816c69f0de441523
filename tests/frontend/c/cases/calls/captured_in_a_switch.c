// refused: uses the global k
struct line { int slope; };
int k = 5;
static int at(const struct line *p, int x) { return p->slope * x + k; }
void f(int n, int m, struct line *g, int u[n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    switch (m) {
    case 1: { int k = 1; u[i] = at(g, i) + k; break; }
    default: u[i] = 0;
    }
#pragma endscop
}
