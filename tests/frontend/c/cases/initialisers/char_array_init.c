// no sizes
static const char s[] = "he'l\n\0\x41\"";
void f(int n, char a[9]) {
#pragma scop
  for (int i = 0; i < 9; i++) a[i] = s[i];
#pragma endscop
}
