// refused: u is of type struct g
struct g { double a[64]; };
static void step(struct g *w, int i) { w++; w->a[i] = 0; }
void f(int n, struct g *u) {
#pragma scop
  for (int i = 0; i < n; i++) step(u, i);
#pragma endscop
}
