// no sizes
double a[10], b[10][3];
int main() {
#pragma scop
  for (unsigned i = 0; i < sizeof(a) / sizeof(a[0]); i++) a[i] = i + sizeof(double);
  for (int i = 0; i < (int)(sizeof b / sizeof *b); i++) b[i][0] = 1;
#pragma endscop
}
