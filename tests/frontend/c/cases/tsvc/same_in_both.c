// no sizes
#define LEN 64
float a[LEN],b[LEN],c[LEN],d[LEN],e[LEN]; float chk;
int main(void) { for (int i = 0; i < LEN; i++) { a[i] = (i * 7) % LEN - 20; b[i] = -a[i]; c[i] = 2; d[i] = i; e[i] = 0.5; }
#pragma scop
  int j = -1;
  for (int i = 0; i < LEN; i++) { if (b[i] > 0) { j++; a[j] = b[i] + d[i] * e[i]; } else { j++; a[j] = c[i] + d[i] * e[i]; } }
#pragma endscop
}
