// n=6
typedef double real; typedef real vec[6]; typedef vec mat[6]; typedef int index_t; typedef index_t dim;
void f(dim n, mat A, vec x, vec y) {
  assert(n <= 6);
#pragma scop
  for (index_t i = 0; i < n; i++) { y[i] = 0; for (dim j = 0; j < n; j++) y[i] += A[i][j] * x[j]; }
#pragma endscop
}
