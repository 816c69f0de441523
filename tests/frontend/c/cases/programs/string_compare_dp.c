// n=7 m=6
#define MIN3(a,b,c) ((a) < (b) ? ((a) < (c) ? (a) : (c)) : ((b) < (c) ? (b) : (c)))
void f(int n, int m, char s[n + 1], char t[m + 1], int d[n + 1][m + 1]) {
#pragma scop
  for (int i = 0; i <= n; i++) d[i][0] = i;
  for (int j = 0; j <= m; j++) d[0][j] = j;
  for (int i = 1; i <= n; i++) for (int j = 1; j <= m; j++) { int c = s[i - 1] == t[j - 1] ? 0 : 1; d[i][j] = MIN3(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + c); }
#pragma endscop
}
