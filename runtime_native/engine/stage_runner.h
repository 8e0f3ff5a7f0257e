// Runs one stage on arrays, having checked everything that the compiled library does not check.
#pragma once

#include <cstddef>
#include <map>
#include <new>
#include <string>
#include <vector>

#include "vm.h"

namespace kokoro {

// Memory at a multiple of 64 bytes, which compiled code assumes.
template <class T>
struct AlignedAllocator {
    using value_type = T;
    AlignedAllocator() = default;
    template <class Other>
    AlignedAllocator(const AlignedAllocator<Other> &) {}
    T *allocate(size_t count) {
        return static_cast<T *>(::operator new(count * sizeof(T), std::align_val_t(ALIGNMENT)));
    }
    void deallocate(T *memory, size_t) { ::operator delete(memory, std::align_val_t(ALIGNMENT)); }
    template <class Other>
    bool operator==(const AlignedAllocator<Other> &) const { return true; }
    template <class Other>
    bool operator!=(const AlignedAllocator<Other> &) const { return false; }
};

template <class T>
using Aligned = std::vector<T, AlignedAllocator<T>>;
using Floats = Aligned<float>;

// An input of a stage: the memory of an aligned array.
struct Input {
    const void *data;
    size_t bytes;

    Input(const void *data, size_t bytes) : data(data), bytes(bytes) {}
    template <class T>
    Input(const Aligned<T> &values) : data(values.data()), bytes(values.size() * sizeof(T)) {}
};

// An array in place of one of the bundle's parameters.
struct Parameter {
    std::vector<int64_t> shape;
    Floats values;
};
// The same by the names in the manifest.
using Replacements = std::map<std::string, Parameter>;

class StageRunner {
public:
    // Loads the stage's libraries for a CPU level. Throws LIBRARY_LOAD_ERROR and bundle errors.
    StageRunner(const Stage &stage, const std::string &level, BundleFiles &files,
                const std::map<std::string, Any> &parameters, Worker &worker);

    // Returns the stage's outputs for inputs in the order of its signature, with `replaced` in place of parameters.
    // Throws EXECUTION_ERROR, and CHANGED_FILE_ERROR if somebody has written to the parameters.
    std::vector<Floats> run(int64_t length, const std::vector<Input> &inputs, const Replacements &replaced = {});

    // Largest length that a library holds.
    int64_t capacity() const { return libraries_.back().bucket; }
    const std::string &axis() const { return stage_.axis; }

private:
    std::vector<Floats> call(const Any &function, int64_t length, const std::vector<Input> &inputs,
                             const Replacements &replaced) const;
    [[noreturn]] void fail(const std::string &reason) const;

    const Stage &stage_;
    std::vector<Library> libraries_;  // by ascending bucket
    std::vector<Any> functions_;      // of each library
    std::vector<TVMFFIAny> parameters_;
    BundleFiles &files_;
    Worker &worker_;
};

}  // namespace kokoro
