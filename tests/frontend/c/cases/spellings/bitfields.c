// refused: bitfields.c:5:33: error: a has bits of its own in its structure
struct s { unsigned a : 3; int b; };
void f(int n, struct s x[n]) {
#pragma scop
  for (int i = 0; i < n; ++i) { x[i].a = i; x[i].b = x[i].a; }
#pragma endscop
}
