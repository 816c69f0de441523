// N=9
#define min(x,y) ((x) < (y) ? (x) : (y))
#define max(x,y) ((x) > (y) ? (x) : (y))
#define floord(n,d) (((n)<0) ? -((-(n)+(d)-1)/(d)) : (n)/(d))
void f(int M, int N, int A[200]) {
  assert(N <= 100 && M <= 50);
#pragma scop
  for (int c0 = 0; c0 < N; c0 += 4)
    for (int c1 = max(0, -(c0 % 8) + 3); c1 <= min(3, N - c0 - 1); c1 += 1)
      A[c0 + c1 + (c1 - 3 * floord(c1, 3))] += c0;
  for (int c0 = -((N - 1) % 3) + N - 1; c0 >= 0; c0 -= 3) A[c0] = c0;
#pragma endscop
}
