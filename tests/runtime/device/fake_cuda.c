/* A stand-in for libcuda.so.1: memory is the process's own, kernels do nothing, calls are noted.

FAKE_CUDA_LOG is a file to which calls are written, FAKE_CUDA_FAIL is "function:number:skip": that
function returns the number, after so many calls of it that do not. FAKE_CUDA_HANG names a function
that never returns. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef unsigned long long u64;
static int failed_calls, live_pieces, capturing, captured;

static int note(const char *name, const char *details) {
  const char *path = getenv("FAKE_CUDA_LOG"), *fail = getenv("FAKE_CUDA_FAIL"),
             *hang = getenv("FAKE_CUDA_HANG");
  if (path) {
    FILE *log = fopen(path, "a");
    fprintf(log, "%s%s%s\n", name, *details ? " " : "", details);
    fclose(log);
  }
  if (hang && !strcmp(hang, name)) for (;;) sleep(1);
  size_t length = strlen(name);
  if (fail && !strncmp(fail, name, length) && fail[length] == ':') {
    int number = 0, skip = 0;
    sscanf(fail + length, ":%d:%d", &number, &skip);
    return failed_calls++ >= skip ? number : 0;
  }
  return 0;
}

#define CALL(name) do { int code = note(name, ""); if (code) return code; } while (0)

int cuInit(unsigned flags) { CALL("cuInit"); return 0; }
int cuGetErrorName(int error, const char **text) {
  *text = error == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : error == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
        : error == 100 ? "CUDA_ERROR_NO_DEVICE" : error == 218 ? "CUDA_ERROR_INVALID_PTX"
        : error == 1 ? "CUDA_ERROR_INVALID_VALUE" : 0;
  return *text ? 0 : 1;
}
int cuGetErrorString(int error, const char **text) { *text = "what it says"; return 0; }
int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
int cuDeviceGetCount(int *count) { CALL("cuDeviceGetCount"); *count = 1; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
int cuDeviceGetName(char *name, int length, int device) {
  snprintf(name, length, "Stand-in");
  return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  static const int values[][2] = {{10, 32}, {13, 1980000}, {16, 132}, {36, 2619000}, {37, 5120},
    {38, 52428800}, {39, 2048}, {75, 9}, {76, 0}, {81, 233472}, {82, 65536}, {97, 232448}};
  for (unsigned k = 0; k < sizeof values / sizeof *values; k++)
    if (values[k][0] == attribute) { *value = values[k][1]; return 0; }
  return 1;
}
int cuDevicePrimaryCtxRetain(uintptr_t *context, int device) { CALL("retain"); *context = 7; return 0; }
int cuDevicePrimaryCtxRelease_v2(int device) {
  char text[32];
  snprintf(text, sizeof text, "%d", live_pieces);
  return note("release", text);
}
int cuCtxSetCurrent(uintptr_t context) { return 0; }
int cuCtxSynchronize(void) { CALL("cuCtxSynchronize"); return 0; }
int cuMemGetInfo_v2(size_t *free, size_t *total) { *free = *total = 80ull << 30; return 0; }
int cuModuleLoadDataEx(uintptr_t *module, const void *image, unsigned count, int *options,
                       void **values) {
  int code = note("cuModuleLoadDataEx", "");
  if (code && count) strcpy(values[0], "ptxas error: line 3");
  *module = 11;
  return code;
}
int cuModuleUnload(uintptr_t module) { CALL("cuModuleUnload"); return 0; }
int cuModuleGetFunction(uintptr_t *function, uintptr_t module, const char *name) {
  *function = (uintptr_t)strdup(name);
  return note("cuModuleGetFunction", name);
}
int cuFuncSetAttribute(uintptr_t function, int attribute, int value) {
  char text[64];
  snprintf(text, sizeof text, "%d %d", attribute, value);
  return note("cuFuncSetAttribute", text);
}
int cuMemAlloc_v2(uintptr_t *address, size_t size) {
  char text[32];
  snprintf(text, sizeof text, "%zu", size);
  int code = note("cuMemAlloc_v2", text);
  if (code) return code;
  live_pieces++;
  *address = (uintptr_t)aligned_alloc(512, (size + 511) / 512 * 512);
  return 0;
}
int cuMemFree_v2(uintptr_t address) {
  live_pieces--;
  free((void *)address);
  CALL("cuMemFree_v2");
  return 0;
}
int cuMemcpyHtoDAsync_v2(uintptr_t target, const void *source, size_t size, uintptr_t stream) {
  CALL("toDevice");
  memcpy((void *)target, source, size);
  return 0;
}
int cuMemcpyDtoHAsync_v2(void *target, uintptr_t source, size_t size, uintptr_t stream) {
  CALL("fromDevice");
  memcpy(target, (void *)source, size);
  return 0;
}
int cuMemcpyDtoDAsync_v2(uintptr_t target, uintptr_t source, size_t size, uintptr_t stream) {
  CALL("onDevice");
  memcpy((void *)target, (void *)source, size);
  return 0;
}
int cuMemsetD8Async(uintptr_t target, unsigned char value, size_t size, uintptr_t stream) {
  memset((void *)target, value, size);
  return 0;
}
int cuStreamCreate(uintptr_t *stream, unsigned flags) { *stream = 21; return 0; }
int cuStreamDestroy_v2(uintptr_t stream) { return 0; }
int cuStreamSynchronize(uintptr_t stream) { CALL("cuStreamSynchronize"); return 0; }
int cuStreamBeginCapture_v2(uintptr_t stream, int mode) { capturing = 1; captured = 0; return 0; }
int cuStreamEndCapture(uintptr_t stream, uintptr_t *graph) {
  capturing = 0;
  *graph = 31;
  return 0;
}
int cuGraphInstantiateWithFlags(uintptr_t *executable, uintptr_t graph, u64 flags) {
  char text[32];
  snprintf(text, sizeof text, "%d", captured);
  *executable = 41;
  return note("graph", text);
}
int cuGraphDestroy(uintptr_t graph) { CALL("cuGraphDestroy"); return 0; }
int cuGraphLaunch(uintptr_t executable, uintptr_t stream) { CALL("cuGraphLaunch"); return 0; }
int cuGraphExecDestroy(uintptr_t executable) { CALL("cuGraphExecDestroy"); return 0; }
int cuEventCreate(uintptr_t *event, unsigned flags) { *event = 51; return 0; }
int cuEventRecord(uintptr_t event, uintptr_t stream) { CALL("cuEventRecord"); return 0; }
int cuEventSynchronize(uintptr_t event) { return 0; }
int cuEventElapsedTime(float *milliseconds, uintptr_t start, uintptr_t end) {
  *milliseconds = 2.5f;
  return 0;
}
int cuEventDestroy_v2(uintptr_t event) { return 0; }
int cuLaunchKernel(uintptr_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                   unsigned by, unsigned bz, unsigned shared, uintptr_t stream, void **arguments,
                   void **extra) {
  char text[256];
  snprintf(text, sizeof text, "%s %u,%u,%u %u,%u,%u %u%s", (const char *)function, gx, gy, gz, bx,
           by, bz, shared, capturing ? " captured" : "");
  captured += capturing;
  return note("cuLaunchKernel", text);
}
