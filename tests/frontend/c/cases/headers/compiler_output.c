// n=9
# 0 "blur.c"
# 0 "<built-in>"
# 1 "/usr/include/stdc-predef.h" 1 3 4
# 0 "<command-line>" 2
# 1 "blur.c"
# 1 "/usr/include/nobody.h" 1 3 4
# 28 "/usr/include/nobody.h" 3 4
typedef __builtin_va_list own_list;
typedef unsigned int own_word;
typedef struct own_state { own_word seed; struct own_state *next; } own_state;
extern int own_print (const char *__restrict __format, own_list __ap)
     __attribute__ ((__nothrow__ , __leaf__)) __attribute__ ((__format__ (__printf__, 1, 0)));
extern __inline __attribute__ ((__gnu_inline__)) int own_get (own_state *s)
{ __extension__ struct { int a; } x = { 0 }; return s->seed + x.a; }
extern _Float128 own_wide (_Float128 __x) __attribute__ ((__const__));
# 2 "blur.c" 2
static own_state state;
void kernel(int n, own_word x[n]) {
  state.seed = 2;
#pragma scop
  for (int i = 0; i < n; i++)
    x[i] = x[i] * 3 + (own_word)i;
#pragma endscop
}
