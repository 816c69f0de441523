//
// The first run of a body is kept where the counter may not hold the number before the loop.
void narrow_do_loops(double *a, double *b) {
#pragma scop
  {
    char i = 300;  // 44
    do {
      a[0] = a[0] + 1;
      i--;
    } while (i > 100);
  }
  {
    _Bool more = 2;  // 1
    do {
      a[1] = a[1] + 1;
      more++;
    } while (more > 1);
  }
  short k;
  k = 65536;  // 0
  do {
    b[k] = 2;
    k++;
  } while (k > 100);
#pragma endscop
}
