#include <stdio.h>
#include "data.h"
DEFINE_ARRAYS

static void imperfect(void) {
	int i, j;
	/* nest: imperfect */
	for (i = 0; i < LEN2; i++) {
		e[i] = 0;
		for (j = 0; j < LEN2; j++)
			e[i] += aa[i][j] * b[j];
		d[i] = e[i] / LEN2;
	}
}
static void rank_update(int n) {
	/* nest: rank_one */
	for (int k = 0; k < n; k++)
		for (int i = 0; i < LEN2; i++)
			for (int j = 0; j < LEN2; j++)
				bb[i][j] += cc[i][k] * cc[k][j];
}
static void wide_band(void) {
	/* nest: band */
	for (int i = 0; i < LEN2; i++)
		for (int j = i > 3 ? i - 3 : 0; j < (i + 4 < LEN2 ? i + 4 : LEN2); j++)
			aa[i][j] += bb[j][i];
}
static void two_in_one(void) {
	/* nest: blocked */
	for (int ii = 0; ii < LEN2; ii += 16)
		for (int j = 0; j < LEN2; j++)
			for (int i = ii; i < LEN2 && i < ii + 16; i++)
				cc[j][i] = aa[i][j];
}
static void do_loop(void) {
	int i = 0;
	/* nest: do_while */
	do {
		c[i] = b[i] + 1;
		i++;
	} while (i < LEN);
}
static void down_to(int k) {
	/* nest: while_down */
	while (--k >= 0)
		d[k] = c[k] * 2;
}
static void product_bound(int n, int m) {
	int total;
	total = n * m;
	/* nest: product_bound */
	for (int i = 0; i < total; i++)
		a[i] += 1;
}

int main(void) {
	FILL_ARRAYS();
	imperfect();
	rank_update(LEN2);
	wide_band();
	two_in_one();
	do_loop();
	down_to(LEN / 3);
	product_bound(LEN2, LEN2);
	printf("nested %.6g\n", all_sums());
	return 0;
}
