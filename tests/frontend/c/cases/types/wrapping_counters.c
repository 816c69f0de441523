// no sizes
void f(int a[300]) {
#pragma scop
  for (unsigned char i = 250; i != 3; i++) a[i] = i;
  for (unsigned char i = 0; i < 200; i++) a[(unsigned char)(i + 100)] += i;
  for (signed char i = 100; i > 0; i++) a[i] += 3 * i;
  for (short i = 0; i < 30; i++) a[(i * 5) & 7] -= i;
#pragma endscop
}
