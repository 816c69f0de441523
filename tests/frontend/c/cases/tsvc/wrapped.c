// no sizes
#define LEN 64
float a[LEN],b[LEN],c[LEN];
void f(void) { int nm1, i1, i2;
#pragma scop
  for (int i = LEN - 1; i >= 0; i--) a[i] = b[LEN - i - 1] * c[i];
  i1 = 1; i2 = 1; for (int i = 0; i < LEN / 2; i++) { c[i1] = a[i2] * i1; i2 = i1 + 1; i1 = i2; }
  nm1 = LEN - 1; for (int i = 0; i < LEN; i++) { b[i] = a[i] * b[nm1]; nm1 = i; }
#pragma endscop
}
