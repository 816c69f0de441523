// n=9 m=2
// Calls that take structures in the cases of a switch; a type that is declared twice.
typedef int number;
typedef number number;
struct sum { number total, count; };
static number last(const struct sum *s, number x) { return s->total - x * s->count; }
static void add(struct sum *s, number v) {
  number w = v * 2;
  s->total += w;
  s->count++;
}
void structures_in_switches(int n, int m, number a[n], number out[n]) {
#pragma scop
  struct sum s = {1, 2};
  for (int i = 0; i < n; i++)
    switch (m) {
    case 1:
      out[i] = last(&s, i);
      break;
    case 2: {
      number w = a[i] % 100;
      add(&s, w);
      out[i] = last(&s, w);
      break;
    }
    default:
      add(&s, i);
    }
  out[0] += s.total + s.count;
#pragma endscop
}
