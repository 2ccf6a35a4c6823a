/* A libnvidia-ml.so.1 with two GPUs for the test of `muster-probe gpus`: one that is well and shares NVLink with another node, and
   one that is ill and has an old driver's functions only. No GPU is needed. */
#include <stdio.h>
#include <string.h>

enum { SUCCESS = 0, NOT_SUPPORTED = 3, INSUFFICIENT_SIZE = 7, LIBRARY_NOT_FOUND = 9 };

typedef struct { int number; } Gpu;
static Gpu gpus[2] = {{0}, {1}};

typedef struct {
  char bus_id_legacy[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
} Pci;

typedef struct {
  unsigned version;
  unsigned char cluster[16];
  int status;
  unsigned clique;
  unsigned char state;
  unsigned health;
} Fabric;

#ifdef NO_DRIVER
int nvmlInit_v2(void) { return LIBRARY_NOT_FOUND; }
#else
int nvmlInit_v2(void) {
  puts("a library that prints on stdout");
  fflush(stdout);
  return SUCCESS;
}
#endif

const char *nvmlErrorString(int code) { return code == LIBRARY_NOT_FOUND ? "Driver Not Loaded" : "Other"; }

int nvmlSystemGetDriverVersion(char *text, unsigned bytes) {
  snprintf(text, bytes, "550.54.15");
  return SUCCESS;
}

int nvmlSystemGetCudaDriverVersion_v2(int *version) {
  *version = 12040;
  return SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned *count) {
  *count = 2;
  return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Gpu **gpu) {
  *gpu = &gpus[index];
  return SUCCESS;
}

int nvmlDeviceGetName(Gpu *gpu, char *text, unsigned bytes) {
  snprintf(text, bytes, "NVIDIA Fake %d", gpu->number);
  return SUCCESS;
}

int nvmlDeviceGetPciInfo_v3(Gpu *gpu, Pci *pci) {
  memset(pci, 0, sizeof *pci);
  pci->bus = gpu->number ? 0xc1 : 0x1b;
  strcpy(pci->bus_id, "00000000:1B:00.0");
  return SUCCESS;
}

/* Uncorrected is 1, since the driver was loaded 0. */
int nvmlDeviceGetTotalEccErrors(Gpu *gpu, int type, int counter, unsigned long long *count) {
  *count = type == 1 && counter == 0 && gpu->number ? 5000000000ULL : 0;
  return SUCCESS;
}

int nvmlDeviceGetRemappedRows(Gpu *gpu, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failed) {
  if (!gpu->number) return NOT_SUPPORTED;
  *corrected = 2;
  *uncorrected = 3;
  *pending = 1;
  *failed = 0;
  return SUCCESS;
}

/* No nvmlDeviceGetCurrentClocksEventReasons: this is its older name. */
int nvmlDeviceGetCurrentClocksThrottleReasons(Gpu *gpu, unsigned long long *reasons) {
  *reasons = gpu->number ? 0x48 : 0x1;
  return SUCCESS;
}

int nvmlDeviceGetMigMode(Gpu *gpu, unsigned *current, unsigned *pending) {
  *current = *pending = gpu->number == 0;
  return gpu->number ? NOT_SUPPORTED : SUCCESS;
}

int nvmlDeviceGetGpuFabricInfoV(Gpu *gpu, Fabric *fabric) {
  if (fabric->version != (sizeof(Fabric) | 2 << 24) || gpu->number) return NOT_SUPPORTED;
  fabric->status = 0;
  fabric->clique = 7;
  fabric->state = 3;
  fabric->health = 1;
  return SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v3(Gpu *gpu, unsigned *count, void *infos) {
  if (infos) return NOT_SUPPORTED;
  *count = gpu->number ? 4 : 0;
  return gpu->number ? INSUFFICIENT_SIZE : SUCCESS;
}
