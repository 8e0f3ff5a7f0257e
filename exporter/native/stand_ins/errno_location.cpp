// zig's libunwind is compiled for musl, and asks for `errno` by musl's name.

extern "C" int *__errno_location() { return __errno(); }
