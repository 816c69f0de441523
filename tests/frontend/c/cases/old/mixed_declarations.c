// n=6 m=5
typedef double real;
static real *g(), h();
extern show();
struct s { int a; } unit(x) struct s x; { return x; }
int table[] = {1, 2}, other;
real kernel(n, a, m)
register n; real a[10][10];
{
  register i; auto j; const k = 3;
  for (register z = 0; z < 3; z++) ;
  assert(n <= 10 && m <= 10);
#pragma scop
  for (i = 0; i < n; i++) for (register j = 0; j < m; j++) { auto t = k * i; a[i][j] = t - j; }
#pragma endscop
  return 0.;
}
