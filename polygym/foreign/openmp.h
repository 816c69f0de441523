/* What polygym calls of libgomp, or of LLVM's or Intel's OpenMP, which have the same functions. */
void GOMP_parallel(void (*task)(void *), void *data, unsigned threads, unsigned flags);
int omp_get_max_threads(void);
