// n=40
static int sign(int c) {
  switch (c) {
  case 0: return 3;
  case 1: return 5;
  case 2:
  case 3: return 7;
  default: return 0;
  }
}
static double pick(int c, double v) {
  switch (c) {
  case 0: v = v + 1; return v;
  case 1: { return 5; }
  case 2:
  case 3: break;
  default: v = 2;
  }
  return v * 2;
}
void kernel(int n, int k[n], double y[n]) {
  for (int i = 0; i < n; i++)
    k[i] = i % 10;
#pragma scop
  for (int i = 0; i < n; i++) {
    switch (k[i]) {
    case 7: continue;
    case 8: y[i] += 1; break;
    case 9: y[i] = 2; goto done;
    default: y[i] *= 2;
    }
    y[i] += pick(k[i], y[i]) + sign(k[i]);
  done:
    y[i] += 100;
  }
#pragma endscop
}
