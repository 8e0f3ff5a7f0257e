// The TVM runtime, which is a part of this library: its version, its threads, and compiled functions.
//
// TVM keeps a pool of threads for each thread that calls it, and binds that caller to processor cores. So all calls of
// a bundle run on one worker thread of the bundle's own.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "../format/bundle_files.h"
#include "../base/threads.h"
#include "tvm.h"

namespace kokoro {

// Refuses a bundle that another TVM compiled: throws TVM_VERSION_ERROR.
void check_tvm(const Manifest &manifest);

class WorkerThread;

// The one thread on which a bundle calls TVM; calls from several threads take turns.
class Worker {
public:
    // Takes a thread with a pool of `threads` threads (this one included), or starts one. Throws RESOURCE_ERROR.
    explicit Worker(int threads);
    // Frees the memory of TVM's allocator.
    ~Worker();
    Worker(const Worker &) = delete;
    Worker &operator=(const Worker &) = delete;

    // Runs a function on the thread and returns when it has; throws what it throws, or FORK_ERROR.
    void call(const std::function<void()> &function);

private:
    Process process_;
    std::unique_ptr<WorkerThread> thread_;
};

// Returns the entry function of a compiled library. Called on the worker's thread. Throws LIBRARY_LOAD_ERROR and
// bundle errors.
Any load_function(BundleFiles &files, const Library &library);

}  // namespace kokoro
