// no sizes
int N; double A[50];
void init(void) { N = 20; }
int main(void) {
  int i, m;
  init();
  m = 30;
  for (i = 0; i < 50; i++) A[i] = i * 0.25;
#pragma scop
  for (i = 0; i < m; i++) A[i + 1] = A[i] * 2;
#pragma endscop
  return 0;
}
