// n=9
// Structures by pointer and by value, in calls that are expressions, blocks and values.
#include <math.h>
struct item { float price, rate; int is_old; };
typedef struct { int slot[8]; unsigned head; long total; } ring;
typedef struct { int w, shift; } shape;

static int at(const shape *s, int x, int y) { return y * s->w + x + s->shift; }

static void push(ring *r, int v) {
  r->total += v - r->slot[r->head & 7];
  r->slot[r->head & 7] = v;
  r->head++;
}

static float curve(float x) {
  float k = 1.0f + x;
  k = k * k + 0.5f;
  return k;
}

static float value(struct item i) {
  float r = i.rate * 2;
  if (i.is_old)
    return curve(r) * i.price;
  return i.price - curve(-r);
}

static float product(const struct item *i) { return i->price * (*i).rate; }

static int sum(const ring *r, int k) {
  int s = 0;
  for (int i = 0; i < 8; i++)
    s += r->slot[i] * k;
  return s;
}

void that_take_structures(int n, int a[n], float out[n], float grid[99]) {
#pragma scop
  ring r;
  shape s;
  struct item items[9];
  for (int i = 0; i < 8; i++)
    r.slot[i] = i;
  r.head = 2;
  r.total = 3;
  s.w = 9;
  s.shift = 1;
  for (int i = 0; i < n; i++) {
    items[i].price = i;
    items[i].rate = 0.5f * i;
    items[i].is_old = i % 2;
  }
  for (int i = 0; i < n; i++) {
    push(&r, a[i]);
    out[i] = value(items[i]) + r.total + product(&items[n - 1 - i]);
  }
  for (int y = 0; y < 9; y++)
    for (int x = 0; x < 9; x++)
      grid[at(&s, x, y)] = x - y;
  int last = sum(&r, 3);
  a[0] = last + r.head;
#pragma endscop
}
