// The end of a process: threads of an app, of a stream and of TVM still run while `exit` destroys static objects, and
// an app's own destructors may still call this library. So none of this library's static objects is ever destroyed:
// their destructors are registered here, where they are dropped, and the system takes the memory back.
extern "C" __attribute__((visibility("hidden"))) int __cxa_atexit(void (*)(void *), void *, void *) { return 0; }
