#define LEN 4000
#define LEN2 60
extern float a[LEN], b[LEN], c[LEN], d[LEN], e[LEN];
extern float aa[LEN2][LEN2], bb[LEN2][LEN2], cc[LEN2][LEN2];
extern int indx[LEN];
typedef float real_t;

#define DEFINE_ARRAYS \
    float a[LEN], b[LEN], c[LEN], d[LEN], e[LEN]; \
    float aa[LEN2][LEN2], bb[LEN2][LEN2], cc[LEN2][LEN2]; \
    int indx[LEN];

#define FILL_ARRAYS() do { \
    for (int i_ = 0; i_ < LEN; i_++) { \
        a[i_] = (float)(i_ % 7) * 0.5f; b[i_] = (float)(i_ % 11) * 0.25f - 1; c[i_] = 1.0f + (float)(i_ % 3); \
        d[i_] = (float)(i_ % 5) - 2; e[i_] = 0.125f * (float)(i_ % 13); indx[i_] = (i_ * 37) % LEN; } \
    for (int i_ = 0; i_ < LEN2 * LEN2; i_++) { \
        aa[i_ / LEN2][i_ % LEN2] = (float)(i_ % 9); bb[i_ / LEN2][i_ % LEN2] = (float)(i_ % 4) * 0.5f; \
        cc[i_ / LEN2][i_ % LEN2] = 0.1f * (float)(i_ % 6); } \
} while (0)

static inline double all_sums(void)
{
    double s = 0;
    for (int i = 0; i < LEN; i++) s += a[i] + 2 * b[i] + 3 * c[i] + d[i] * (i % 3) + e[i];
    for (int i = 0; i < LEN2; i++) for (int j = 0; j < LEN2; j++) s += aa[i][j] * (i + 1) + bb[i][j] + cc[i][j] * j;
    return s;
}
