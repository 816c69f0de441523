// n=6
// Names of types that functions and blocks declare again, with another meaning.
typedef float T;
struct pair {
  float value;
  int weight;
};

static double rounded(double v) {
  typedef int T;
  T t = v;
  return t;
}

static double in_blocks(double v) {
  {
    typedef unsigned char T;
    T t = (int)v;
    v = t;
  }
  return v + (T)0.1;
}

void local_types(int n, int p[n], double a[n], double b[n], double c[n]) {
  typedef double T;
  struct pair {
    double value;
    char weight;
  };
#pragma scop
  struct pair sum = {0.1, 300};
  for (int i = 0; i < n; i++) {
    T t = a[i] * 0.1;
    b[i] = t + (T)a[i] + rounded(a[i]) + in_blocks(p[i]);
    {
      typedef float T;
      T narrow = a[i] * 0.1;
      b[i] += narrow;
    }
    {
      typedef T U;
      typedef short T;
      U wide = a[i] * 0.1;
      T count = p[i] * 40000;
      b[i] += wide + count;
    }
    sum.value += a[i];
    c[i] = sum.value * sum.weight;
  }
#pragma endscop
}
