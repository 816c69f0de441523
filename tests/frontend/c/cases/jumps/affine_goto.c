// n=12
void f(int n, double a[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    if (i % 3 == 1) goto next;
    for (int j = 0; j < i; j++) { if (j == 2) goto inner; a[j] += i; inner: a[i] -= 1; }
    a[i] = 7;
next: ;
  }
  if (n > 5) goto end;
  a[0] = 4;
end: a[n - 1] += 2;
#pragma endscop
}
