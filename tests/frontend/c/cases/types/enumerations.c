// n=20
// The type of an enumeration is unsigned where no constant is negative; its constants are int.
enum { LOWEST = -3, NEXT, SUM = NEXT + 5, MASK = ~LOWEST };
enum level { LOW = SUM, HIGH = 1 << 4, TOP = HIGH | 3 };
typedef enum { OFF, ON } mode;
struct cell {
  enum level level;
  mode mode;
};

static int is_small(enum level l, mode m) { return l - 20 < 0 && m > -1; }

void enumerations(int n, double a[n], double b[n], int p[n], long l[n]) {
  enum { LOWEST = 5, LAST };
#pragma scop
  for (int i = 0; i < n; i++) {
    struct cell cell = {LOW, ON};
    enum level e = i;
    mode m = (mode)(i % 2);
    enum { BELOW = -1, ABOVE } sign = i - 3;
    a[i] = LOWEST - 6 < 0;
    b[i] = e - 5;
    p[i] = LAST + SUM * MASK + is_small(TOP, m);
    l[i] = (mode)(-1) + (long)(cell.level - 10);
    if (m - 1 < 0)
      a[i] += 10;
    if (sign - ABOVE < 0)
      b[i] += 1;
  }
  for (enum level e = 0; e < 7; e++)
    a[e] += e - 3;
#pragma endscop
}
