/* A CUDA driver without a GPU, for tests of what goes wrong: memory is that of the host, kernels do nothing, and the call
   number FAKE_FAIL_AT of those that work on a device fails as a GPU that is gone does. */
#include <stdlib.h>
#include <string.h>

#ifdef FAKE_OLD
int cuInit(unsigned flags) { return 0; }
#else

static long number(const char* name, long otherwise) {
    const char* text = getenv(name);
    return text ? atol(text) : otherwise;
}

static int step(void) {
    static long calls = 0;
    return ++calls == number("FAKE_FAIL_AT", -1) || getenv("FAKE_GONE") ? 719 : 0;
}

int cuInit(unsigned flags) { return (int)number("FAKE_INIT", 0); }
int cuDriverGetVersion(int* version) { *version = 11040; return 0; }
int cuDeviceGet(int* device, int ordinal) { *device = ordinal; return 0; }
int cuDeviceGetCount(int* count) { *count = (int)number("FAKE_GPUS", 1); return 0; }
int cuDeviceGetName(char* name, int length, int device) { strncpy(name, "Fake GPU", length); return 0; }
int cuDeviceGetAttribute(int* value, int attribute, int device) {
    *value = attribute == 75 ? (int)number("FAKE_MAJOR", 9) : attribute == 76 ? 0 : 132;
    return 0;
}
int cuDeviceTotalMem_v2(size_t* bytes, int device) { *bytes = (size_t)1 << 33; return 0; }
int cuDevicePrimaryCtxRetain(void** context, int device) { *context = &step; return 0; }
int cuDevicePrimaryCtxRelease_v2(int device) { return 0; }
int cuCtxGetCurrent(void** context) { *context = 0; return 0; }
int cuCtxSetCurrent(void* context) { return 0; }
int cuCtxSynchronize(void) { return 0; }
int cuMemAlloc_v2(unsigned long long* start, size_t bytes) {
    *start = (unsigned long long)calloc(bytes, 1);
    return step();
}
int cuMemFree_v2(unsigned long long start) { free((void*)start); return 0; }
int cuMemGetInfo_v2(size_t* free_bytes, size_t* total) {
    *free_bytes = (size_t)number("FAKE_MEMORY", (long)1 << 33);
    *total = (size_t)1 << 33;
    return step();
}
int cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t bytes) { memcpy((void*)to, from, bytes); return step(); }
int cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t bytes) { memcpy(to, (void*)from, bytes); return step(); }
int cuMemsetD8_v2(unsigned long long to, unsigned char value, size_t bytes) { memset((void*)to, value, bytes); return step(); }
int cuModuleLoadData(void** module, const void* image) { *module = &step; return (int)number("FAKE_LOAD", 0); }
int cuModuleUnload(void* module) { return 0; }
int cuModuleGetFunction(void** function, void* module, const char* name) { *function = &step; return 0; }
int cuLaunchKernel(void* f, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned g, unsigned shared, void* stream,
                   void** parameters, void** extra) {
    return step();
}
int cuGetErrorName(int error, const char** name) { *name = error == 719 ? "CUDA_ERROR_LAUNCH_FAILED" : "CUDA_ERROR"; return 0; }
int cuGetErrorString(int error, const char** text) { *text = "unspecified launch failure"; return 0; }
#endif
