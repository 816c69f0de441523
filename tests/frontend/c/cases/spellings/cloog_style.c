// M=3 N=9
#define floord(n,d) (((n)<0) ? -((-(n)+(d)-1)/(d)) : (n)/(d))
#define ceild(n,d)  floord(((n)+(d)-1), (d))
#define max(a,b) (((a)>(b))?(a):(b))
#define min(a,b) (((a)<(b))?(a):(b))
void S(int *a, int i, int j) { a[0] += i * 3 + j; }
void f(int M, int N, int a[1]) {
  int c1, c2, i, j;
#pragma scop
  if ((M <= N) && (N >= 1)) {
    for (c1 = max(M, 1); c1 <= min(2 * N, N + M); c1++) {
      for (c2 = ceild(c1 - N, 2); c2 <= floord(c1, 3); c2++) { if ((c1 + c2) % 2 == 0) { i = (c1 + c2) / 2; S(a, i, c2); } }
    }
  }
#pragma endscop
}
