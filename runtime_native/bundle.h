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
#include "model/blend.h"
#include "model/statistics.h"
#include "model/synthesiser.h"
#include "model/voices.h"
#include "text/bundled.h"

namespace kokoro {

struct LoadOptions {
    int threads = 0;  // 0: TVM_NUM_THREADS, or else all cores of this process
    std::optional<std::string> level;
    std::optional<std::string> arithmetic;
    std::optional<std::string> manifest_sha256;
    bool verify = true;
};

// Any number of threads may use it.
class Bundle {
public:
    // Verifies and loads the bundle in a directory. Throws errors of the bundle, the machine and of usage.
    static std::unique_ptr<Bundle> load(const std::string &directory, const LoadOptions &options);
    ~Bundle();

    const Manifest &manifest() const { return manifest_; }
    const std::string &level() const { return level_; }
    // Most phonemes of one utterance: the model's limit or that of the largest bucket.
    size_t max_phonemes() const;
    Capabilities capabilities();
    // Returns the parts of a request for a text, as `BundledText::parts` does, for any thread.
    NextRequest text_parts(const TextInput &input, const Request &request, const Capabilities &capabilities);
    // Returns the G2P for a voice's text, as `BundledText::g2p_of` does, for any thread.
    BundledText::G2p g2p_of(const TextInput &input, const std::string &voice);

    // Prepares an utterance. Throws what `Synthesiser::prepare` does, and MISSING_STAGES_ERROR of a partial bundle.
    Prepared prepare(const Utterance &utterance, const CancelCheck &check);
    // Returns the outputs of one stage for inputs in the order of its signature, whose tokens have been checked. Throws
    // EXECUTION_ERROR, and MISSING_STAGES_ERROR if the bundle lacks it.
    std::vector<Floats> run_stage(const std::string &name, int64_t length, const std::vector<Input> &inputs);
    // Throws MISSING_STAGES_ERROR if this is a partial bundle.
    void require_all_stages() const;

    // Number of times that `cancel` was called.
    uint64_t cancellations() const { return cancellations_; }
    // Returns a check that throws CANCELLED once `cancel` was called more often than `before`.
    CancelCheck cancel_check(uint64_t before) const;
    void cancel() { cancellations_++; }

private:
    explicit Bundle(const std::string &directory) : files_(directory) {}
    void verify(const LoadOptions &options, int threads);
    void start(int threads);
    Any transformed(const Tensor &tensor, const Matrix &matrix);
    BundledText &text();

    BundleFiles files_;
    Manifest manifest_;
    std::string level_;
    std::atomic<uint64_t> cancellations_{0};
    std::unique_ptr<VoiceTables> voice_tables_;
    std::unique_ptr<VoiceStatistics> statistics_;
    std::mutex text_mutex_;
    std::unique_ptr<BundledText> text_;
    std::unique_ptr<Mapping> mapping_;
    std::vector<Aligned<uint16_t>> transformed_;  // weights that are not stored as the kernels take them
    std::unique_ptr<Worker> worker_;
    std::map<std::string, Any> parameters_;
    std::map<std::string, StageRunner> stages_;
};

}  // namespace kokoro
