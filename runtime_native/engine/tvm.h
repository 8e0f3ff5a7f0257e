// tvm-ffi's C interface as owning C++ values. Errors of TVM are thrown as TvmError.
#pragma once

#include <tvm/ffi/c_api.h>

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

namespace kokoro {

class TvmError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Throws the error that TVM raised on this thread.
[[noreturn]] void throw_raised();

// A value that belongs to us: a number, a function, a module, a tensor or an array.
class Any {
public:
    Any() = default;
    explicit Any(TVMFFIAny value) : value_(value) {}
    Any(TVMFFIObjectHandle object, int32_t type);
    Any(Any &&other) noexcept : value_(other.value_) { other.value_ = TVMFFIAny{}; }
    Any &operator=(Any &&other) noexcept;
    ~Any();

    const TVMFFIAny &view() const { return value_; }
    bool is_function() const { return value_.type_index == kTVMFFIFunction; }

    // Calls a function, which borrows its arguments.
    Any operator()(const std::vector<TVMFFIAny> &arguments) const;
    // Returns a function of a module. Throws TvmError if it lacks it.
    Any member(const std::string &name) const;
    // Returns a tensor. Throws TvmError if the value is none.
    const DLTensor &tensor() const;
    // Returns the elements of an array. Throws TvmError if their number is another one.
    std::vector<const DLTensor *> tensors(size_t count) const;

private:
    TVMFFIAny value_{};  // TVM reads a result before it writes it
};

TVMFFIAny argument(int64_t number);
TVMFFIAny argument(const char *text);

// Returns a function of TVM's runtime. Throws TvmError.
Any global_function(const char *name);

// Returns a tensor over memory that starts at a multiple of 64 bytes and outlives it. Throws TvmError.
Any wrap_memory(const void *data, const std::string &dtype, const std::vector<int64_t> &shape);

}  // namespace kokoro
