// refused: does not change its counter
void narrow(int n, int a[n]) {
#pragma scop
  for (unsigned char i = n; i-- > 0;)
    a[i] = i;
#pragma endscop
}
