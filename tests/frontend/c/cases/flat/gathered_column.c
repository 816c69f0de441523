// Nr=7, Nc=5
void f(int Nr, int Nc, const int *iN, const int *iS, const int *jW, const float *image,
       float *dN, float *c) {
#pragma scop
  for (int j = 0; j < Nc; j++)
    for (int i = 0; i < Nr; i++) {
      int k = i + Nr * j;
      dN[k] = image[iN[i] + Nr * j] - image[k];
      c[k] = dN[k] * image[iS[i] + Nr * j] + image[i + Nr * jW[j]];
    }
#pragma endscop
}
