// no sizes
#define LEN 64
float a[LEN],b[LEN],c[LEN],d[LEN],e[LEN],aa[LEN][LEN]; 
void f(void) { float s;
#pragma scop
  s = 0.; for (int i = 0; i < LEN; ++i) { if (a[i] > 0.2) { s = d[i] * d[i]; } b[i] = s * c[i] + d[i]; e[i] = (s + 1.f) * aa[0][i]; }
  for (int i = 0; i < LEN; i++) { int k; float t = a[i]; if (t < 0.5f) t = 2 * t; k = t > 0.7f; c[i] = k; }
#pragma endscop
}
