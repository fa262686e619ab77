/*
 * A library with the functions of NVML that Joulie calls, and boards made of plain numbers. The test that loads it loads the same
 * file itself and tells the boards how to behave through stub_set; both share one copy of the state below.
 * OLD_DRIVER leaves out what drivers of 2016 did not have.
 * A test of another process has variables for the same: STUB_NVML_BOARDS boards from the start; STUB_NVML_CRASH ends the process in
 * nvmlInit; while the file that STUB_NVML_INIT_HANG or STUB_NVML_HANG names exists, nvmlInit or every call with a board's handle hangs.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  OK = 0,
  UNINITIALIZED = 1,
  INVALID_ARGUMENT = 2,
  NOT_SUPPORTED = 3,
  NO_PERMISSION = 4,
  INSUFFICIENT_SIZE = 7,
  DRIVER_NOT_LOADED = 9,
};

#define MAX_BOARDS 16
#define KEYS 20

/* Keys of one board. Code 0 = success. Power in mW. */
static const char *const keys[KEYS] = {
    "min",       /* minimum and maximum limit; maximum 0 = constraints not supported */
    "max",
    "default",
    "limit",     /* the last limit; 0 = limits not supported */
    "oob",       /* a lower limit set by the BMC; 0 = none */
    "power",     /* -1 = not supported */
    "energy",    /* mJ, -1 = not supported */
    "mig",       /* -1 = not supported */
    "persistence",
    "lost",      /* return code of every call, including the handle lookup */
    "setcode",   /* return code of every attempt to set the limit */
    "ignore",    /* accepts a limit without effect */
    "lies",      /* limit reads back, the enforced one stays */
    "hang",      /* calls do not return while this is 1 */
    "writes",    /* attempts to set the limit */
    "enforced",  /* read only */
    "calls",     /* number of calls */
    "longname",
    "", ""
};
static _Atomic long long board[MAX_BOARDS][KEYS];

/* Keys of the driver. */
static _Atomic int count, initialised, initcode, inithang, loaded, inits, generation, hanging;

static int key_of(const char *key) {
  for (int k = 0; k < KEYS; k++)
    if (strcmp(keys[k], key) == 0) return k;
  fprintf(stderr, "the NVML stub has no %s\n", key);
  abort();
}

static long long of(int i, const char *key) { return board[i][key_of(key)]; }

static long long enforced(int i) {
  long long limit = of(i, "lies") ? of(i, "default") : of(i, "limit"), oob = of(i, "oob");
  return oob > 0 && oob < limit ? oob : limit;
}

static _Atomic int *global_of(const char *key) {
  if (strcmp(key, "count") == 0) return &count;
  if (strcmp(key, "initcode") == 0) return &initcode;
  if (strcmp(key, "inithang") == 0) return &inithang;
  if (strcmp(key, "loaded") == 0) return &loaded;
  if (strcmp(key, "initialised") == 0) return &initialised;
  if (strcmp(key, "inits") == 0) return &inits;
  if (strcmp(key, "hanging") == 0) return &hanging; /* number of calls that hang now */
  fprintf(stderr, "the NVML stub has no %s\n", key);
  abort();
}

/* Functions for the test. Board -1 is the driver. */
void stub_set(int i, const char *key, long long value) {
  if (i < 0) *global_of(key) = (int)value;
  else board[i][key_of(key)] = value;
}

long long stub_get(int i, const char *key) {
  if (i < 0) return *global_of(key);
  return strcmp(key, "enforced") == 0 ? enforced(i) : of(i, key);
}

/* Creates n boards like H100s. */
void stub_reset(int n) {
  memset((void *)board, 0, sizeof board);
  for (int i = 0; i < MAX_BOARDS; i++) {
    stub_set(i, "min", 200000);
    stub_set(i, "max", 700000);
    stub_set(i, "default", 700000);
    stub_set(i, "limit", 700000);
    stub_set(i, "power", 310000);
    stub_set(i, "energy", 5000000);
    stub_set(i, "persistence", 1);
  }
  count = n;
  initialised = initcode = inithang = inits = 0;
  loaded = 1;
  generation++;
}

/* Simulates a driver reload: NVML is not initialised, and limits have their defaults. */
void stub_reload(void) {
  initialised = 0;
  generation++;
  for (int i = 0; i < MAX_BOARDS; i++) stub_set(i, "limit", of(i, "default"));
}

/* A handle is a board's number and the driver's generation, and never a null pointer. */
static void *handle_of(int i) { return (void *)(long)(0x10000 * (generation + 1) + i + 1); }

#define HANG_WHILE(flag)           \
  if (flag) {                      \
    hanging++;                     \
    while (flag) usleep(1000);     \
    hanging--;                     \
  }

static void hang_while_there(const char *variable) {
  const char *file = getenv(variable);
  while (file != NULL && access(file, F_OK) == 0) usleep(1000);
}

__attribute__((constructor)) static void boards_from_environment(void) {
  const char *boards = getenv("STUB_NVML_BOARDS");
  if (boards != NULL) stub_reset(atoi(boards));
}

static int enter(void *handle, int *i) {
  if (!loaded) return DRIVER_NOT_LOADED;
  if (!initialised) return UNINITIALIZED;
  long number = (long)handle;
  if (number / 0x10000 != generation + 1 || (number & 0xffff) > count) return INVALID_ARGUMENT;
  *i = (int)(number & 0xffff) - 1;
  board[*i][key_of("calls")]++;
  HANG_WHILE(of(*i, "hang"))
  hang_while_there("STUB_NVML_HANG");
  return (int)of(*i, "lost");
}

#define ENTER                  \
  int i;                       \
  int code = enter(device, &i); \
  if (code != OK) return code

int nvmlInit_v2(void) {
  if (getenv("STUB_NVML_CRASH")) *(volatile int *)0 = 0;
  HANG_WHILE(inithang)
  hang_while_there("STUB_NVML_INIT_HANG");
  if (!loaded) return DRIVER_NOT_LOADED;
  if (initcode) return initcode;
  inits++;
  initialised = 1;
  return OK;
}

int nvmlShutdown(void) {
  if (!initialised) return UNINITIALIZED;
  initialised = 0;
  return OK;
}

int nvmlDeviceGetCount_v2(unsigned *result) {
  if (!loaded) return DRIVER_NOT_LOADED;
  if (!initialised) return UNINITIALIZED;
  *result = (unsigned)count;
  return OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **result) {
  if (!loaded) return DRIVER_NOT_LOADED;
  if (!initialised) return UNINITIALIZED;
  if ((int)index >= count) return INVALID_ARGUMENT;
  HANG_WHILE(of((int)index, "hang"))
  if (of((int)index, "lost")) return (int)of((int)index, "lost");
  *result = handle_of((int)index);
  return OK;
}

int nvmlDeviceGetUUID(void *device, char *text, unsigned length) {
  ENTER;
  return snprintf(text, length, "GPU-8f1c2d3e-0000-4000-8000-00000000000%x", i) < (int)length ? OK : INSUFFICIENT_SIZE;
}

int nvmlDeviceGetName(void *device, char *text, unsigned length) {
  ENTER;
  if (!of(i, "longname")) return snprintf(text, length, "NVIDIA H100 80GB HBM3") < (int)length ? OK : INSUFFICIENT_SIZE;
  memset(text, 'x', length - 1);
  text[length - 1] = 0;
  return OK;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *result) {
  ENTER;
  if (of(i, "power") < 0) return NOT_SUPPORTED;
  *result = (unsigned)of(i, "power");
  return OK;
}

int nvmlDeviceGetPowerManagementLimit(void *device, unsigned *result) {
  ENTER;
  if (of(i, "limit") == 0) return NOT_SUPPORTED;
  *result = (unsigned)of(i, "limit");
  return OK;
}

int nvmlDeviceGetPowerManagementDefaultLimit(void *device, unsigned *result) {
  ENTER;
  if (of(i, "limit") == 0) return NOT_SUPPORTED;
  *result = (unsigned)of(i, "default");
  return OK;
}

int nvmlDeviceGetPowerManagementLimitConstraints(void *device, unsigned *least, unsigned *most) {
  ENTER;
  if (of(i, "limit") == 0 || of(i, "max") == 0) return NOT_SUPPORTED;
  *least = (unsigned)of(i, "min");
  *most = (unsigned)of(i, "max");
  return OK;
}

int nvmlDeviceSetPowerManagementLimit(void *device, unsigned limit) {
  ENTER;
  board[i][key_of("writes")]++;
  if (of(i, "limit") == 0) return NOT_SUPPORTED;
  if (of(i, "setcode")) return (int)of(i, "setcode");
  if (limit < of(i, "min") || (of(i, "max") > 0 && limit > of(i, "max"))) return INVALID_ARGUMENT;
  if (!of(i, "ignore")) stub_set(i, "limit", limit);
  return OK;
}

int nvmlDeviceGetPersistenceMode(void *device, int *result) {
  ENTER;
  if (of(i, "persistence") < 0) return NOT_SUPPORTED;
  *result = (int)of(i, "persistence");
  return OK;
}

#ifndef OLD_DRIVER
int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *result) {
  ENTER;
  if (of(i, "limit") == 0) return NOT_SUPPORTED;
  *result = (unsigned)enforced(i);
  return OK;
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *result) {
  ENTER;
  if (of(i, "energy") < 0) return NOT_SUPPORTED;
  *result = (unsigned long long)of(i, "energy");
  return OK;
}

int nvmlDeviceGetMigMode(void *device, unsigned *current, unsigned *pending) {
  ENTER;
  if (of(i, "mig") < 0) return NOT_SUPPORTED;
  *current = *pending = (unsigned)of(i, "mig");
  return OK;
}
#endif
