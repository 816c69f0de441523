// no sizes
#define LEN 64
double a[LEN],b[LEN],c[LEN],d[LEN],e[LEN],aa[LEN][LEN]; int indx[LEN], ip[LEN];
int main(void) { for (int i = 0; i < LEN; i++) { a[i] = (i * 7 % 13) / 4.0; b[i] = (i * 5 % 11) - 5.0; c[i] = i % 3 + 1; d[i] = i * 0.01; e[i] = 2; ip[i] = (i * 5) % LEN; indx[i] = i % 4 + 1; }
 double s, t, sum; int j, k, m = 1;
 for (int nl = 0; nl < 2; nl++) {
#pragma scop
  for (int i = 1; i < LEN; i += 2) a[i] = a[i - 1] + b[i];
  for (int i = 0; i < LEN; i++) { k = (i + 1) < LEN ? i + 1 : 0; a[i] = b[k] + c[i]; }
  j = -1; for (int i = 0; i < LEN / 2; i++) { j++; a[j] = b[i] + d[i] * e[i]; j++; a[j] = c[i]; }
  k = 0; for (int i = 0; i < LEN / 2; i++) { k = k + i % 1 + 1; b[k] = a[k] + 1; }
  sum = 0.; for (int i = 0; i < LEN; i++) { sum += a[i]; b[i] = sum; }
  t = 0; for (int i = 0; i < LEN; i++) { s = b[i] * c[i]; a[i] = s + t; t = s; }
  for (int i = 0; i < LEN; i++) a[i] += b[ip[i]] * 2;
  for (int i = 0; i < LEN - 1; i++) { if (b[i] > 0) a[i + 1] = a[i] + b[i] * c[i]; else if (d[i] < .2) a[i + 1] = 3; }
#pragma endscop
 }
 return (int)a[3]; }
