// x=1
#define LEN 64
float a[LEN],b[LEN],c[LEN],d[LEN],e[LEN]; 
void f(int x) { 
#pragma scop
  for (int i = 0; i < LEN; i++) { if (a[i] > b[i]) { a[i] += b[i] * d[i]; if (LEN > 10) c[i] += d[i] * d[i]; else c[i] = d[i] * e[i] + 1; }
   else { b[i] = a[i] + e[i] * e[i]; if (x > 0) c[i] = a[i] + d[i] * d[i]; else c[i] += e[i] * e[i]; } }
#pragma endscop
}
