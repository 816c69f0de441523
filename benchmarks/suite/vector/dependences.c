/* Loops of few lines for what compilers know about dependences. */
#include <stdio.h>
#include "data.h"
DEFINE_ARRAYS

void forward_copy(void) {
  /* nest: forward */
  for (int i = 0; i < LEN - 1; i++) a[i] = a[i + 1] + b[i];
}
void odd_even(void) {
  /* nest: odd_even */
  for (int i = 1; i < LEN; i += 2) a[i] = a[i - 1] + b[i];
}
void reversed(void) {
  /* nest: reversed */
  for (int i = LEN - 2; i >= 0; i--) a[i + 1] = a[i] + b[i];
}
void crossing(void) {
  /* nest: crossing */
  for (int i = 0; i < LEN; i++) a[i] = a[LEN - i - 1] + b[i];
}
void first_order(float f) {
  /* nest: recurrence */
  for (int i = 1; i < LEN; i++) a[i] = f * a[i - 1] + b[i];
}
void distant(int m) {
  /* nest: distant */
  for (int i = 0; i < LEN / 2; i++) a[i + m] = a[i] + b[i];
}
void two_counters(void) {
  int j = -1;
  /* nest: counters */
  for (int i = 0; i < LEN / 2; i++) {
    j++;
    a[j] = b[i] + d[i] * e[i];
    j++;
    a[j] = c[i] + d[i];
  }
}
void wavefront(void) {
  /* nest: wavefront */
  for (int j = 1; j < LEN2; j++)
    for (int i = 1; i < LEN2; i++) aa[j][i] = 0.5f * (aa[j][i - 1] + aa[j - 1][i]) + bb[j][i];
}
void transposed_sum(void) {
  /* nest: transposed */
  for (int i = 0; i < LEN2; i++)
    for (int j = 0; j < i; j++) aa[i][j] = aa[j][i] + bb[i][j];
}

int main(void) {
  FILL_ARRAYS();
  forward_copy();
  odd_even();
  reversed();
  first_order(0.25f);
  crossing();
  for (int i = 0; i < LEN; i++) a[i] = a[i] > 100 ? 1 : a[i];
  distant(LEN / 2);
  two_counters();
  wavefront();
  transposed_sum();
  printf("dependences %.6g\n", all_sums());
  return 0;
}
