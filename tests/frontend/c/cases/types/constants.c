// n=9
unsigned g = 3; short tab[4] = {1, -2, 70000, 4}; const unsigned char w[3] = {300, -1, 7}; const unsigned long big[2] = {0xffffffffffffffff, 18446744073709551615u};
void f(int n, unsigned x[n], unsigned char cc, short sh, unsigned long ul) {
  unsigned k = 0; unsigned char kk = 250;
#pragma scop
  for (int i = 0; i < n; i++) { x[k] = w[i % 3] + big[i % 2] + cc * sh + ul; k += 1; kk += 3; x[i] += kk + 'a' + 0xffffffff + 2147483648; }
  x[k - 1] = kk;
#pragma endscop
}
