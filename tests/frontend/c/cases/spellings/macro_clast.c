// T=7 N=30
#define ceild(n,d) (((n)<0) ? -((-(n))/(d)) : ((n)+(d)-1)/(d))
#define floord(n,d) (((n)<0) ? -((-(n)+(d)-1)/(d)) : (n)/(d))
#define max(x,y) ((x) > (y)? (x) : (y))
#define min(x,y) ((x) < (y)? (x) : (y))
void f(int T, int N, double a[1000]) {
  int t1, t2, t3, lb, ub, lbp, ubp;
  assert(N >= 3 && N <= 1000 && T >= 1);
#pragma scop
  for (t1 = 0; t1 <= floord(T - 1, 8); t1++) {
    lbp = max(0, ceild(8 * t1 - T + 1, 8));
    ubp = floord(N - 1, 8);
    for (t2 = lbp; t2 <= ubp; t2++)
      for (t3 = max(8 * t2, 0); t3 <= min(N - 1, 8 * t2 + 7); t3++)
        a[t3] += t1;
  }
#pragma endscop
}
