// n=9
// sizeof of members; functions of gcc's own in the place of those of math.h.
typedef struct { unsigned char key[32]; short words[2][6]; } state;
void sizes_of_members(int n, unsigned char k[32], short w[n], double a[n]) {
#pragma scop
  state s;
  for (int i = 0; i < sizeof(s.key); i++) s.key[i] = k[i] ^ 3;
  for (int i = 0; i < sizeof(s.words) / sizeof(s.words[0]); i++)
    for (int j = 0; j < sizeof(s.words[0]) / sizeof s.words[0][0]; j++) s.words[i][j] = i - j;
  for (int i = 0; i < n; i++) {
    a[i] = __builtin_sqrt(__builtin_fabs(a[i])) + __builtin_abs(i - 4) + __builtin_fmax(a[i], 2);
    w[i] = s.key[i] + s.words[1][i % 6];
  }
#pragma endscop
}
