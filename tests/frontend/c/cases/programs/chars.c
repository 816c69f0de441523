// n=9
void f(int n, char s[n], unsigned char t[n], char lut[26]) {
#pragma scop
  for (int i = 0; i < n; i++) { t[i] = s[i] >= 'a' && s[i] <= 'z' ? lut[s[i] - 'a'] : s[i] ^ 0x20; s[i] += '0'; }
#pragma endscop
}
