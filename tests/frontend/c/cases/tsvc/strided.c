// no sizes
#define LEN 64
float a[LEN],b[LEN]; float chk;
int main(void) { for (int i = 0; i < LEN; i++) { a[i] = (i * 7) % LEN - 20; b[i] = -a[i]; }
 float sum; int inc = 2, k; float maxv; int index;
#pragma scop
  sum = 0; for (int i = 0; i < LEN; i++) if (a[i] > 0) sum += a[i];
  k = 0; index = 0; maxv = a[0]; k += inc;
  for (int i = 1; i < LEN / 2; i++) { if (a[k] <= maxv) { } else { index = i; maxv = a[k]; } k += inc; }
  chk = sum + maxv + index + 1;
#pragma endscop
}
