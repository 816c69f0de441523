// n=9 m=5
#include <string.h>
static unsigned char bytes[40];
static float table[4][8];
void kernel(int n, int m, double a[n][m], double b[n][m], int *c, short *s, unsigned char *d,
            unsigned char *e) {
#pragma scop
  for (int i = 0; i < n; i++)
    s[i] = (short)(i + 1);
  memset(c, 0, n * sizeof(int));
  memset(d, 7, m);
  memset(bytes, 0, sizeof(bytes));
  memcpy(e, d, (size_t)m);
  for (int i = 0; i < n; i++)
    memcpy(a[i], b[n - 1 - i], m * sizeof(double));
  memset(&b[2][0], 0, sizeof(double) * m);
  memcpy((void *)s, &s[0], 0);
  for (int i = 0; i < n; i++)
    s[i] += c[i] + 1;
  for (int i = 1; i < 4; i++)
    memcpy(table[i], table[0], sizeof table[0]);
#pragma endscop
}
