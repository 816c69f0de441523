// ni=6
#define S(x) x##f
void f(int ni, float alpha, float C[ni][ni], int n) {
#pragma scop
  for (int i = 0; i < ni; i++) for (int j = 0; j < ni; j++) C[i][j] *= alpha + S(1.5) + S(.5) + S(1.0e+1) + S(2.) + S(1e-3);
#pragma endscop
}
