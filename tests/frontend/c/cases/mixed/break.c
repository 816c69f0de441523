// refused: put the rest of its body under an if
void f(int n, float x[n]) {
#pragma scop
  for (int i = 0; i < n; i++) { if (x[i] < 0.f) break; x[i] = 1; }
#pragma endscop
}
