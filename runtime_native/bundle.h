// A loaded bundle. `kokoro.cpp` is the C interface to it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "engine/vm.h"
#include "format/bundle_files.h"
#include "model/synthesiser.h"
#include "model/voices.h"

namespace kokoro {

struct LoadOptions {
    int threads = 0;  // 0: TVM_NUM_THREADS, or else all cores of this process
    std::optional<std::string> level;
    std::optional<std::string> manifest_sha256;
    bool verify = true;
};

class Bundle {
public:
    // Verifies and loads the bundle in a directory. Throws errors of the bundle, the machine and of usage.
    static std::unique_ptr<Bundle> load(const std::string &directory, const LoadOptions &options);
    ~Bundle();

    // Most phonemes of one utterance: the model's limit or that of the largest bucket.
    size_t max_phonemes() const;

    // Throws MISSING_STAGES_ERROR if this is a partial bundle.
    void require_all_stages() const;

    // A number that `cancel` changes: a call that began with another one is cancelled.
    uint64_t epoch() const { return epoch_; }
    void cancel() { epoch_++; }

    BundleFiles files;
    Manifest manifest;
    CpuLevel level;
    std::mutex mutex;  // held by whoever reads voices or speaks

private:
    Bundle(const std::string &directory) : files(directory) {}

    std::atomic<uint64_t> epoch_{0};
    std::unique_ptr<Mapping> parameters_;
    std::unique_ptr<Worker> worker_;
    std::map<std::string, StageRunner> stages_;

public:
    std::unique_ptr<VoiceTables> voices;
    std::unique_ptr<Synthesiser> synthesiser;
};

}  // namespace kokoro
