// no sizes
#define LEN 64
float a[LEN],b[LEN]; float chk;
int main(void) { for (int i = 0; i < LEN; i++) { a[i] = (i * 7) % LEN; b[i] = -a[i]; }
 float x; int index;
#pragma scop
  x = a[0]; index = 0;
  for (int i = 0; i < LEN; ++i) { if (a[i] > x) { x = a[i]; index = i; } }
  chk = x + (float) index;
#pragma endscop
}
