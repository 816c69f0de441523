/* What polygym calls of the C library; `off_t` is `long`, `pid_t` and `clockid_t` are `int`. */
void *mmap(void *address, size_t length, int protection, int flags, int descriptor, long offset);
int munmap(void *address, size_t length);
int mprotect(void *address, size_t length, int protection);
int madvise(void *address, size_t length, int advice);
int memcmp(const void *first, const void *second, size_t size);
void *memmove(void *target, const void *source, size_t size);
void *memset(void *target, int byte, size_t size);
int clock_getcpuclockid(int process_id, int *clock);
int prctl(int option, unsigned long value, unsigned long, unsigned long, unsigned long);
int sigaction(int number, const void *action, void *previous);
int sigaltstack(const void *stack, void *previous);
void *dlopen(const char *path, int flags);
void *dlsym(void *library, const char *name);
char *dlerror(void);
int personality(unsigned long persona);
