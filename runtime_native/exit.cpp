// The end of a process: threads of an app, of a stream and of TVM still run while `exit` destroys static objects, and
// an app's own destructors may still call this library. So none of this library's static objects is ever destroyed:
// their destructors are registered here, where they are dropped, and the system takes the memory back. The one thread
// of a WebAssembly module ends with the module.
#if defined(__wasm__)
#define REGISTER __cxa_thread_atexit
#else
#define REGISTER __cxa_atexit
#endif
extern "C" __attribute__((visibility("hidden"))) int REGISTER(void (*)(void *), void *, void *) { return 0; }
