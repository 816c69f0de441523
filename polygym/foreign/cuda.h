/* What polygym calls of NVIDIA's driver, libcuda.so.1. Handles and addresses are integers. */
int cuInit(unsigned flags);
int cuGetErrorName(int error, const char **text);
int cuGetErrorString(int error, const char **text);
int cuDriverGetVersion(int *version);
int cuDeviceGetCount(int *count);
int cuDeviceGet(int *device, int ordinal);
int cuDeviceGetName(char *name, int length, int device);
int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDevicePrimaryCtxRetain(uintptr_t *context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuCtxSetCurrent(uintptr_t context);
int cuCtxSynchronize(void);
int cuMemGetInfo_v2(size_t *free, size_t *total);
int cuModuleLoadDataEx(uintptr_t *module, const void *image, unsigned count, int *options,
                       void **values);
int cuModuleUnload(uintptr_t module);
int cuModuleGetFunction(uintptr_t *function, uintptr_t module, const char *name);
int cuFuncSetAttribute(uintptr_t function, int attribute, int value);
int cuMemAlloc_v2(uintptr_t *address, size_t size);
int cuMemFree_v2(uintptr_t address);
int cuMemcpyHtoDAsync_v2(uintptr_t target, const void *source, size_t size, uintptr_t stream);
int cuMemcpyDtoHAsync_v2(void *target, uintptr_t source, size_t size, uintptr_t stream);
int cuMemcpyDtoDAsync_v2(uintptr_t target, uintptr_t source, size_t size, uintptr_t stream);
int cuMemsetD8Async(uintptr_t target, unsigned char value, size_t size, uintptr_t stream);
int cuStreamCreate(uintptr_t *stream, unsigned flags);
int cuStreamDestroy_v2(uintptr_t stream);
int cuStreamSynchronize(uintptr_t stream);
int cuStreamBeginCapture_v2(uintptr_t stream, int mode);
int cuStreamEndCapture(uintptr_t stream, uintptr_t *graph);
int cuGraphInstantiateWithFlags(uintptr_t *executable, uintptr_t graph, unsigned long long flags);
int cuGraphDestroy(uintptr_t graph);
int cuGraphLaunch(uintptr_t executable, uintptr_t stream);
int cuGraphExecDestroy(uintptr_t executable);
int cuEventCreate(uintptr_t *event, unsigned flags);
int cuEventRecord(uintptr_t event, uintptr_t stream);
int cuEventSynchronize(uintptr_t event);
int cuEventElapsedTime(float *milliseconds, uintptr_t start, uintptr_t end);
int cuEventDestroy_v2(uintptr_t event);
int cuLaunchKernel(uintptr_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                   uintptr_t stream, void **arguments, void **extra);
