// T=6 N=9
#define floord(n, d) (((n)<0) ? -((-(n)+(d)-1)/(d)) : (n)/(d))
#define ceild(n, d)  (((n)<0) ? -((-(n))/(d)) : ((n)+(d)-1)/(d))
#define max(x,y)    ((x) > (y)? (x) : (y))
#define min(x,y)    ((x) < (y)? (x) : (y))
void f(int T, int N, double a[2][N]) {
  int t1, t2, t3, t4;
  register int lbv, ubv;
  assert(N >= 3 && T >= 1);
#pragma scop
  if ((N >= 3) && (T >= 1)) {
    for (t1 = 0; t1 <= floord(2 * T + N - 4, 8); t1++)
      for (t2 = max(ceild(8 * t1 - T + 1, 8), 0); t2 <= min(floord(T + N - 3, 8), t1); t2++)
        for (t3 = max(max(0, 8 * t1 - 8 * t2), 8 * t2 - N + 2); t3 <= min(min(T - 1, 8 * t2 + 6), 8 * t1 - 8 * t2 + 7); t3++) {
          lbv = max(8 * t2, t3 + 1);
          ubv = min(8 * t2 + 7, t3 + N - 2);
#pragma ivdep
#pragma vector always
          for (t4 = lbv; t4 <= ubv; t4++) a[(t3 + 1) % 2][-t3 + t4] = (a[t3 % 2][-t3 + t4 - 1] + a[t3 % 2][-t3 + t4 + 1]) / 2;
        }
  }
#pragma endscop
}
