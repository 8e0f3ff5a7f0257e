/* Runs one stage of a bundle through TVM's C interface alone, on systems where there is no Python.
 *
 *   run_stage TVM_FFI TVM_RUNTIME LIBRARY FUNCTION ARGUMENTS RESULTS
 *
 * ARGUMENTS and RESULTS are files of tensors: for each the code and the bits of its DLPack type and the number of
 * its dimensions, the sizes, and the values; all numbers are int64 and little-endian. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tvm/ffi/c_api.h>
#include <windows.h>

#define MOST 1024
#define MOST_DIMENSIONS 8

static HMODULE ffi;

static void fail(const char *what) {
    fprintf(stderr, "run_stage: %s failed (Windows error %lu)\n", what, GetLastError());
    exit(1);
}

static HMODULE library(const char *path) {
    HMODULE module = LoadLibraryExA(path, NULL, LOAD_WITH_ALTERED_SEARCH_PATH);
    if (module == NULL) fail(path);
    return module;
}

static void *of_ffi(const char *name) {
    void *address = (void *)GetProcAddress(ffi, name);
    if (address == NULL) fail(name);
    return address;
}

/* Says what TVM raised, and ends. */
static void raised(const char *what) {
    TVMFFIObjectHandle error = NULL;
    ((void (*)(TVMFFIObjectHandle *))of_ffi("TVMFFIErrorMoveFromRaised"))(&error);
    TVMFFIByteArray *message = error ? &((TVMFFIErrorCell *)((char *)error + sizeof(TVMFFIObject)))->message : NULL;
    if (message) fprintf(stderr, "%.*s\n", (int)message->size, message->data);
    fail(what);
}

static TVMFFIAny call(TVMFFIAny function, TVMFFIAny *arguments, int count, const char *what) {
    int (*run)(TVMFFIObjectHandle, TVMFFIAny *, int32_t, TVMFFIAny *) = of_ffi("TVMFFIFunctionCall");
    TVMFFIAny result = {.type_index = kTVMFFINone};
    if (run(function.v_obj, arguments, count, &result)) raised(what);
    return result;
}

static TVMFFIAny number(int64_t value) { return (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = value}; }

static TVMFFIAny text(const char *value) { return (TVMFFIAny){.type_index = kTVMFFIRawStr, .v_c_str = value}; }

static TVMFFIAny global(const char *name) {
    int (*get)(const TVMFFIByteArray *, TVMFFIObjectHandle *) = of_ffi("TVMFFIFunctionGetGlobal");
    TVMFFIByteArray key = {name, strlen(name)};
    TVMFFIAny function = {.type_index = kTVMFFIFunction};
    if (get(&key, (TVMFFIObjectHandle *)&function.v_obj) || function.v_obj == NULL) raised(name);
    return function;
}

static TVMFFIAny method(TVMFFIAny module, const char *name) {
    TVMFFIAny arguments[] = {module, text(name), {.type_index = kTVMFFIBool, .v_int64 = 0}};
    TVMFFIAny function = call(global("ffi.ModuleGetFunction"), arguments, 3, name);
    if (function.type_index != kTVMFFIFunction) fail(name);
    return function;
}

static void discard(DLManagedTensor *tensor) { (void)tensor; }

static int64_t read_number(FILE *file) {
    int64_t value;
    if (fread(&value, sizeof value, 1, file) != 1) fail("reading the arguments");
    return value;
}

/* Reads a tensor; its memory stays as long as the process. */
static int read_tensor(FILE *file, TVMFFIAny *tensor) {
    int next = fgetc(file);
    if (next == EOF) return 0;
    ungetc(next, file);
    DLManagedTensor *read = calloc(1, sizeof *read);
    int64_t *shape = calloc(MOST_DIMENSIONS, sizeof *shape), count = 1;
    read->deleter = discard;
    read->dl_tensor.device.device_type = kDLCPU;
    read->dl_tensor.dtype.code = (uint8_t)read_number(file);
    read->dl_tensor.dtype.bits = (uint8_t)read_number(file);
    read->dl_tensor.dtype.lanes = 1;
    read->dl_tensor.ndim = (int32_t)read_number(file);
    if (read->dl_tensor.ndim > MOST_DIMENSIONS) fail("a tensor with so many dimensions");
    for (int i = 0; i < read->dl_tensor.ndim; ++i) count *= shape[i] = read_number(file);
    read->dl_tensor.shape = shape;
    size_t size = (size_t)count * read->dl_tensor.dtype.bits / 8;
    read->dl_tensor.data = _aligned_malloc(size + 1, 64);
    if (fread(read->dl_tensor.data, 1, size, file) != size) fail("reading the arguments");
    int (*take)(DLManagedTensor *, int32_t, int32_t, TVMFFIObjectHandle *) = of_ffi("TVMFFITensorFromDLPack");
    *tensor = (TVMFFIAny){.type_index = kTVMFFITensor};
    if (take(read, 64, 1, (TVMFFIObjectHandle *)&tensor->v_obj)) raised("taking an argument");
    return 1;
}

static void write_tensor(FILE *file, TVMFFIAny result) {
    DLTensor *tensor = (DLTensor *)((char *)result.v_obj + sizeof(TVMFFIObject));
    int64_t head[] = {tensor->dtype.code, tensor->dtype.bits, tensor->ndim}, count = 1;
    fwrite(head, sizeof *head, 3, file);
    fwrite(tensor->shape, sizeof *tensor->shape, (size_t)tensor->ndim, file);
    for (int i = 0; i < tensor->ndim; ++i) count *= tensor->shape[i];
    size_t size = (size_t)count * tensor->dtype.bits / 8;
    if (fwrite((char *)tensor->data + tensor->byte_offset, 1, size, file) != size) fail("writing the results");
}

static void write_results(FILE *file, TVMFFIAny result) {
    if (result.type_index == kTVMFFITensor) {
        write_tensor(file, result);
        return;
    }
    int64_t count = call(global("ffi.ArraySize"), &result, 1, "ffi.ArraySize").v_int64;
    for (int64_t i = 0; i < count; ++i) {
        TVMFFIAny arguments[] = {result, number(i)};
        write_tensor(file, call(global("ffi.ArrayGetItem"), arguments, 2, "ffi.ArrayGetItem"));
    }
}

int main(int count, char **paths) {
    if (count != 7) fail("reading the command line");
    ffi = library(paths[1]);
    library(paths[2]);
    TVMFFIAny from_file[] = {text(paths[3]), text("so")};
    TVMFFIAny module = call(global("ffi.Module.load_from_file.so"), from_file, 2, paths[3]);
    TVMFFIAny machine = call(method(module, "vm_load_executable"), NULL, 0, "vm_load_executable");
    /* On the CPU, whose number is 1, with TVM's pooled allocator, whose number is 2. */
    TVMFFIAny devices[] = {number(1), number(0), number(2)};
    call(method(machine, "vm_initialization"), devices, 3, "vm_initialization");
    static TVMFFIAny arguments[MOST];
    int given = 0;
    FILE *file = fopen(paths[5], "rb");
    if (file == NULL) fail(paths[5]);
    while (given < MOST && read_tensor(file, &arguments[given])) ++given;
    TVMFFIAny result = call(method(machine, paths[4]), arguments, given, paths[4]);
    file = fopen(paths[6], "wb");
    if (file == NULL) fail(paths[6]);
    write_results(file, result);
    if (fclose(file)) fail("writing the results");
    return 0;
}
