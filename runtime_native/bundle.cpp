#include "bundle.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "engine/machine.h"
#include "engine/modules.h"
#include "base/errors.h"
#include "format/arithmetic.h"
#include "format/parse.h"
#include "format/transforms.h"
#include "base/sha256.h"
#include "model/loudness.h"
#include "model/tokens.h"
#include "base/threads.h"
#include "base/utf8.h"

namespace kokoro {

namespace {

void check_pin(const std::string &manifest, const std::string &pinned) {
    std::string expected = pinned, found = sha256_of(manifest);
    for (char &each : expected) each |= each >= 'A' && each <= 'F' ? 0x20 : 0;
    if (found != expected) {
        throw Error(KOKORO_MANIFEST_DIGEST_ERROR,
                    "manifest.msgpack has SHA-256 " + found + ", pinned is " + pinned + ": this is another bundle than "
                    "the one you trust; fetch that one again or pin this one.");
    }
}

// This library has no part of TVM's runtime for devices.
void check_devices(const Manifest &manifest) {
    for (const Stage &stage : manifest.stages) {
        if (stage.device == "cpu") continue;
        throw Error(KOKORO_DEVICE_ERROR, "The stage '" + stage.name + "' of this bundle computes on " + stage.device +
                                             ", and this library computes on the CPU only: use a bundle that was "
                                             "exported for the CPU.");
    }
}

// Returns true if every value is a positive finite number.
bool all_positive(const Tensor &tensor, const char *data) {
    for (int64_t at = 0, size = item_size(tensor.dtype); at < tensor.bytes; at += size) {
        uint64_t bits = 0;
        std::memcpy(&bits, data + at, size);
        bool negative = bits >> (8 * size - 1);
        uint64_t infinity = tensor.dtype == "float16" ? 0x7C00 : tensor.dtype == "float32" ? 0x7F800000 : UINT64_MAX;
        if (negative || bits == 0 || bits >= infinity) return false;
    }
    return true;
}

// Checks the scales of weights of int8: another one would be heard, at best.
void check_scales(const std::vector<Tensor> &tensors, const char *data) {
    std::set<std::string> scales;
    for (const Tensor &tensor : tensors) {
        if (tensor.dtype == "int8") scales.insert(tensor.name + SCALES);
    }
    for (const Tensor &tensor : tensors) {
        if (!scales.count(tensor.name) || all_positive(tensor, data + tensor.offset)) continue;
        throw Error(KOKORO_SCALES_ERROR, "The scales '" + tensor.name + "' should be positive finite numbers and are "
                                         "not: export the bundle again.");
    }
}

// Returns the CPU level that the options name, or the best one with an arithmetic, or else with float32.
CpuLevel chosen_level(const Manifest &manifest, const std::set<std::string> &features, const LoadOptions &options) {
    const std::vector<CpuLevel> &levels = manifest.target.levels;
    if (options.level && options.arithmetic) {
        throw Error(KOKORO_USAGE_ERROR, "A level has an arithmetic of its own: give one of level and arithmetic.");
    }
    if (options.level) return choose_level(levels, features, options.level);
    std::vector<CpuLevel> exact, wanted;
    std::vector<std::string> found;
    const std::map<std::string, std::string> having = arithmetic_of(manifest);
    for (const CpuLevel &level : levels) {
        const std::string &arithmetic = having.at(level.name);
        if (std::find(found.begin(), found.end(), arithmetic) == found.end()) found.push_back(arithmetic);
        if (arithmetic == FLOAT32) exact.push_back(level);
        if (options.arithmetic == arithmetic && runs(level, features)) wanted.push_back(level);
    }
    if (options.arithmetic && std::find(found.begin(), found.end(), *options.arithmetic) == found.end()) {
        throw Error(KOKORO_USAGE_ERROR, "The bundle has no arithmetic '" + *options.arithmetic + "': it has " +
                                            joined(found) + ". Export it with --arithmetic.");
    }
    // Every processor computes in float32, so that takes the place of instructions that this one lacks.
    return choose_level(!wanted.empty() ? wanted : !exact.empty() ? exact : levels, features, std::nullopt);
}

}  // namespace

std::unique_ptr<Bundle> Bundle::load(const std::string &directory, const LoadOptions &options) {
    const int threads = choose_threads(options.threads);
    for (;;) {
        std::unique_ptr<Bundle> bundle(new Bundle(directory));
        try {
            bundle->verify(options, threads);
            bundle->start(threads);
            return bundle;
        } catch (const Error &failure) {
            // The files of a bundle vanish while another one takes its place, and then that one is loaded.
            if (failure.code / 100 != KOKORO_BUNDLE_ERROR / 100 || !bundle->files_.replaced()) throw;
        }
    }
}

// Checks everything before anything is loaded.
void Bundle::verify(const LoadOptions &options, int threads) {
    std::string data = files_.read_manifest();
    if (options.manifest_sha256) check_pin(data, *options.manifest_sha256);
    manifest_ = parse_manifest(data);
    files_.expect(manifest_);
    Machine machine = this_machine();
    check_target(manifest_.target, machine);
    check_module(manifest_);
    level_ = chosen_level(manifest_, machine.features, options).name;
    if (options.verify) files_.verify(threads, manifest_.parameter_file, manifest_.stage_files(level_));
    check_devices(manifest_);
    check_tvm(manifest_);
}

// Maps the parameters and loads the libraries.
void Bundle::start(int threads) {
    int64_t bytes = 0;
    for (const Tensor &tensor : manifest_.tensors) {
        auto matrix = manifest_.transforms.find(tensor.layout);
        // What is transformed is there twice.
        bool twice = matrix != manifest_.transforms.end();
        bytes += tensor.bytes + (twice ? tensor.bytes / tensor.shape[1] * matrix->second.size() : 0);
    }
    check_memory(bytes, threads);
    voice_tables_ = std::make_unique<VoiceTables>(files_, manifest_);
    statistics_ = std::make_unique<VoiceStatistics>(files_, manifest_);
    if (bytes) {
        mapping_ = files_.map(manifest_.parameter_file);
        check_scales(manifest_.tensors, mapping_->data());
    }
    for (const Tensor &tensor : manifest_.tensors) {
        auto matrix = manifest_.transforms.find(tensor.layout);
        bool kept = matrix == manifest_.transforms.end();
        parameters_.emplace(tensor.name, kept ? wrap_memory(mapping_->data() + tensor.offset, tensor.dtype, tensor.shape)
                                              : transformed(tensor, matrix->second));
    }
    worker_ = std::make_unique<Worker>(threads);
    for (const Stage &stage : manifest_.stages) {
        stages_.emplace(std::piecewise_construct, std::forward_as_tuple(stage.name),
                        std::forward_as_tuple(stage, level_, files_, parameters_, *worker_));
    }
    files_.release_directory();
}

// Returns the weights of a tensor as the kernels take them.
Any Bundle::transformed(const Tensor &tensor, const Matrix &matrix) {
    std::vector<int64_t> shape = transformed_shape(tensor, matrix);
    Aligned<uint16_t> &products = transformed_.emplace_back(shape[0] * shape[1] * shape[2] * shape[3]);
    transform(tensor, matrix, reinterpret_cast<const uint16_t *>(mapping_->data() + tensor.offset), products.data());
    return wrap_memory(products.data(), tensor.dtype, shape);
}

Bundle::~Bundle() {
    // What the worker is computing ends before its libraries are gone.
    stages_.clear();
    worker_.reset();
}

size_t Bundle::max_phonemes() const {
    int64_t most = manifest_.max_phonemes;
    for (const auto &entry : stages_) {
        if (entry.second.axis() == "tokens") most = std::min(most, entry.second.capacity() - BOUNDARIES);
    }
    return most;
}

Capabilities Bundle::capabilities() {
    std::set<char32_t> vocabulary;
    for (const auto &entry : manifest_.vocabulary) {
        std::u32string phoneme = decode_utf8(entry.first);
        if (phoneme.size() == 1) vocabulary.insert(phoneme[0]);
    }
    auto table = [this](const std::string &name) -> const std::vector<float> & { return voice_tables_->table(name); };
    Voices voices{voice_tables_->names(), static_cast<size_t>(2 * manifest_.style), table};
    auto style = [voices](const std::string &voice, size_t phonemes) { return style_row(voices, voice, phonemes); };
    auto gain = [this, voices](const std::string &voice, double loudness) {
        return voice_gain(read_loudness(manifest_.extensions), voices, voice, loudness);
    };
    auto statistics = [this, voices](const std::string &voice) {
        return voice_statistics(*statistics_, voices, voice);
    };
    return {style, vocabulary, max_phonemes(), gain, statistics};
}

// Returns what reads text; the caller has its mutex.
BundledText &Bundle::text() {
    if (!text_) {
        auto read = [this](const std::string &path) { return files_.read(path); };
        text_ = std::make_unique<BundledText>(manifest_.extensions, files_.expected(), read);
    }
    return *text_;
}

NextRequest Bundle::text_parts(const TextInput &input, const Request &request, const Capabilities &capabilities) {
    std::lock_guard<std::mutex> lock(text_mutex_);
    return [this, parts = text().parts(input, request, capabilities)] {
        std::lock_guard<std::mutex> next(text_mutex_);
        return parts();
    };
}

BundledText::G2p Bundle::g2p_of(const TextInput &input, const std::string &voice) {
    std::lock_guard<std::mutex> lock(text_mutex_);
    return [this, g2p = text().g2p_of(input, voice)](View written) {
        std::lock_guard<std::mutex> reading(text_mutex_);
        return g2p(written);
    };
}

Prepared Bundle::prepare(const Utterance &utterance, const CancelCheck &check) {
    require_all_stages();
    return Synthesiser(stages_, manifest_).prepare(utterance, check);
}

std::vector<Floats> Bundle::run_stage(const std::string &name, int64_t length, const std::vector<Input> &inputs) {
    auto stage = stages_.find(name);
    if (stage == stages_.end()) {
        throw Error(KOKORO_MISSING_STAGES_ERROR, "This bundle has no stage '" + name + "': export it with all stages.");
    }
    return stage->second.run(length, inputs);
}

void Bundle::require_all_stages() const {
    size_t all = signatures(1, 1, manifest_.requires_of_reader(DEVICES_REQUIRED)).size();
    if (stages_.size() == all) return;
    throw Error(KOKORO_MISSING_STAGES_ERROR, "This is a partial bundle with " + std::to_string(stages_.size()) +
                                                 " of " + std::to_string(all) + " stages. Export without --stages "
                                                 "to get a complete bundle.");
}

CancelCheck Bundle::cancel_check(uint64_t before) const {
    return [this, before] {
        if (cancellations_ != before) {
            throw Error(KOKORO_CANCELLED, "The speech was cancelled before its end: ask again to hear the rest.");
        }
    };
}

}  // namespace kokoro
