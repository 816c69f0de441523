// n=9
#define _GNU_SOURCE
#include <glob.h>
#include <search.h>
#include <spawn.h>
static glob_t matches;
static ENTRY entries[4];
typedef int (*visitor_t)(const ENTRY *entry, glob_t *matches);
struct job { posix_spawnattr_t attributes; visitor_t visit; };
static int count(const ENTRY *entry, glob_t *g) { return entry->key != 0 && g == &matches; }
static struct job jobs[] = { { .visit = count } };
void kernel(int n, double x[n]) {
  const ENTRY *first = &entries[0];
  glob_t *own = &matches;
  int known = jobs[0].visit(first, own);
#pragma scop
  for (int i = 0; i < n; i++)
    x[i] = 2 * x[i];
#pragma endscop
  entries[0].data = (void *)(long)known;
}
