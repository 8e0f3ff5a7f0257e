#include "cross_checks.h"

#include <algorithm>
#include <map>
#include <set>

#include "blocks.h"
#include "schema.h"

namespace kokoro {

namespace {

constexpr int64_t MOST_BYTES = int64_t{1} << 34;
using Sizes = std::map<std::string, int64_t>;
using Wide = unsigned __int128;  // no sum or product of a manifest overflows it

std::string element(const std::string &array, size_t index) { return array + "[" + std::to_string(index) + "]"; }

void check_listed(const Sizes &sizes, const std::string &place, const std::string &path) {
    expect(sizes.count(path), place, "a file of the list 'files'", path);
}

template <class Items>
void check_unique(const std::string &place, const Items &items) {
    std::set<std::string> seen;
    for (const auto &item : items) expect(seen.insert(item.name).second, place, "every name once", item.name);
}

// Checks that paths ascend, and can exist at once, with their directories, on every file system.
void check_paths(const std::vector<FileEntry> &files) {
    std::map<std::string, std::string> spellings = {{MANIFEST_NAME, MANIFEST_NAME}};
    auto check_spelling = [&](const std::string &name) {
        std::string lower = name;
        for (char &each : lower) each |= each >= 'A' && each <= 'Z' ? 0x20 : 0;
        if (lower.back() == '/') lower.pop_back();
        expect(spellings.emplace(lower, name).first->second == name, "files",
               "paths that differ in more than upper and lower case, and no file that is a directory", name);
    };
    const std::string *before = nullptr;
    for (const FileEntry &entry : files) {
        expect(!before || *before < entry.path, "files", "every path once, in ascending order", entry.path);
        expect(entry.path != MANIFEST_NAME, "files", "every file but the manifest", entry.path);
        before = &entry.path;
        for (size_t end = 0; (end = entry.path.find('/', end)) != std::string::npos; end++) {
            check_spelling(entry.path.substr(0, end + 1));
        }
        check_spelling(entry.path);
    }
}

Sizes check_sizes(const std::vector<FileEntry> &files) {
    Sizes sizes;
    Wide sum = 0;
    for (const FileEntry &entry : files) {
        sizes[entry.path] = entry.bytes;
        sum += entry.bytes;
    }
    expect(sum <= MOST_BYTES, "files", "at most 2^34 bytes in all", "more");
    return sizes;
}

// Checks the paths of TVM's runtime, which an app may bring in place of the bundle.
void check_runtimes(const Manifest &manifest, const Sizes &sizes) {
    for (const auto &[device, path] : manifest.device_libraries) {
        expect(device == "metal" || device == "cuda", "device_libraries", "some of metal, cuda", device);
        check_listed(sizes, "device_libraries['" + device + "']", path);
    }
    if (!manifest.runtime_library.empty()) {
        check_listed(sizes, "runtime_library", manifest.runtime_library);
    } else {
        expect(manifest.device_libraries.empty(), "runtime_library", "a path beside those of device_libraries", "''");
    }
}

// Checks that no parameter has a type that readers without PRECISION_REQUIRED do not know.
void check_precision(const Manifest &manifest) {
    if (manifest.requires_of_reader(PRECISION_REQUIRED)) return;
    for (size_t index = 0; index < manifest.tensors.size(); index++) {
        const std::string &dtype = manifest.tensors[index].dtype;
        expect(dtype != "float16" && dtype != "int8", element("parameters.tensors", index) + ".dtype",
               "one of float32, int64, int32 without the requirement 'precision'", dtype);
    }
}

// Checks that tensors fill the file one after the other, aligned, and have the size of their shape.
void check_parameters(const Manifest &manifest, const Sizes &sizes) {
    check_listed(sizes, "parameters.file", manifest.parameter_file);
    check_unique("parameters.tensors", manifest.tensors);
    Wide end = 0;
    for (size_t index = 0; index < manifest.tensors.size(); index++) {
        const Tensor &tensor = manifest.tensors[index];
        std::string place = element("parameters.tensors", index);
        Wide size = item_size(tensor.dtype);
        for (int64_t dim : tensor.shape) size = std::min<Wide>(size * dim, Wide{1} << 64);
        expect(size == static_cast<Wide>(tensor.bytes), place + ".bytes", "the size of its shape",
               std::to_string(tensor.bytes));
        Wide start = (end + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        expect(start == static_cast<Wide>(tensor.offset), place + ".offset",
               "the first multiple of 64 where the tensor before it ends", std::to_string(tensor.offset));
        end = start + tensor.bytes;
    }
    expect(end == static_cast<Wide>(sizes.at(manifest.parameter_file)), "parameters.tensors",
           "tensors that fill " + manifest.parameter_file, "others");
}

// Checks that every weight of int8 in a convolution's layout has the scales of its groups.
void check_scales(const std::vector<Tensor> &tensors) {
    std::map<std::string, const Tensor *> by_name;
    for (const Tensor &tensor : tensors) by_name[tensor.name] = &tensor;
    for (const Tensor &weight : tensors) {
        if (weight.dtype != "int8" || weight.layout.rfind("conv[", 0) != 0) continue;
        expect(weight.shape.size() == 4, "parameters.tensors", weight.name + " with four dimensions", "others");
        int64_t group = 1;  // input channels, the greatest power of two with at most 64 weights
        while (2 * group * weight.shape[2] <= 64) group *= 2;
        int64_t groups = (weight.shape[1] + group - 1) / group;
        auto scales = by_name.find(weight.name + SCALES);
        bool fit = scales != by_name.end() && scales->second->dtype == "float16" &&
                   scales->second->shape == std::vector<int64_t>{weight.shape[0], groups, weight.shape[3]};
        expect(fit, "parameters.tensors", "a tensor " + weight.name + SCALES + " of float16 for its groups", "none");
    }
}

// Checks that a matrix has rows of one length, and that of the weights which it transforms.
void check_transforms(const Manifest &manifest) {
    for (const auto &[layout, matrix] : manifest.transforms) {
        for (const auto &row : matrix) {
            expect(row.size() == matrix[0].size(), "transforms['" + layout + "']", "rows of one length", "others");
        }
    }
    for (const Tensor &tensor : manifest.tensors) {
        auto found = manifest.transforms.find(tensor.layout);
        if (found == manifest.transforms.end()) continue;
        int64_t taps = found->second[0].size();
        expect(tensor.dtype == "float16" && tensor.shape.size() == 4 && tensor.shape[1] == taps, "parameters.tensors",
               tensor.name + " of float16 with four dimensions, the second of " + std::to_string(taps), "others");
    }
}

// Checks that the table has a row for each token; the library checks the table's shape alone.
void check_token_table(const std::string &place, const Stage &stage, const Manifest &manifest) {
    int64_t most = 0;
    for (const auto &entry : manifest.vocabulary) most = std::max(most, entry.second);
    auto named = [&](const Tensor &each) { return each.name == stage.parameters[0]; };
    auto table = stage.parameters.empty() ? manifest.tensors.end()
                                          : std::find_if(manifest.tensors.begin(), manifest.tensors.end(), named);
    expect(table != manifest.tensors.end() && table->shape.size() == 2 && table->shape[0] > most, place,
           "first a table of two dimensions with a row for each token up to " + std::to_string(most), "another");
}

// Checks that all CPU levels have the same buckets, ascending, and none below the stage's minimum.
void check_libraries(const std::string &place, const Stage &stage, const Manifest &manifest, const Sizes &sizes) {
    std::vector<int64_t> buckets;
    size_t count = 0;
    for (const CpuLevel &level : manifest.target.levels) {
        std::vector<int64_t> found;
        for (const Library &library : stage.buckets(level.name)) found.push_back(library.bucket);
        if (!count) buckets = found;
        expect(found == buckets && !found.empty(), place, "the same buckets for each of the levels", level.name);
        count += found.size();
    }
    expect(count == stage.libraries.size(), place, "libraries of the target's levels", "others");
    expect(buckets[0] >= stage.minimum, place, "ascending buckets from " + std::to_string(stage.minimum) + " on",
           std::to_string(buckets[0]));
    for (size_t index = 1; index < buckets.size(); index++) {
        expect(buckets[index - 1] < buckets[index], place, "ascending buckets", std::to_string(buckets[index]));
    }
    for (const Library &library : stage.libraries) check_listed(sizes, place, library.file);
}

void check_stages(const Manifest &manifest, const Sizes &sizes) {
    std::set<std::string> tensors;
    for (const Tensor &tensor : manifest.tensors) tensors.insert(tensor.name);
    auto known = signatures(manifest.hidden, manifest.style, manifest.requires_of_reader(DEVICES_REQUIRED));
    auto next = known.begin();
    for (size_t index = 0; index < manifest.stages.size(); index++) {
        const Stage &stage = manifest.stages[index];
        std::string place = element("stages", index);
        next = std::find_if(next, known.end(), [&](const auto &each) { return each.name == stage.name; });
        expect(next != known.end(), "stages", "stages once each, in their order", stage.name);
        expect(*next++ == stage, place, "the signature of the stage " + stage.name, "another");
        for (const std::string &name : stage.parameters) {
            expect(tensors.count(name), place + ".parameters", "names of the parameter table", name);
        }
        if (stage.inputs[0].name == "token_ids") check_token_table(place + ".parameters", stage, manifest);
        check_libraries(place + ".libraries", stage, manifest, sizes);
    }
}

// Checks that the bundle, or the app, has a runtime for every device.
void check_devices(const Manifest &manifest) {
    for (size_t index = 0; index < manifest.stages.size(); index++) {
        const Stage &stage = manifest.stages[index];
        // The phase is as good as chaotic in F0, so what decides it rounds as on any CPU.
        bool always_on_cpu = stage.name == "f0n" || stage.name == "source";
        bool brought = manifest.runtime_library.empty() || manifest.device_libraries.count(stage.device);
        expect(stage.device == "cpu" || (brought && !always_on_cpu), element("stages", index) + ".device",
               "cpu, or a device with a runtime", stage.device);
    }
}

void check_voices(const Manifest &manifest, const Sizes &sizes) {
    check_unique("voices", manifest.voices);
    std::set<std::string> names;
    for (const Voice &voice : manifest.voices) names.insert(voice.name);
    for (const auto &entry : manifest.voice_ranks) {
        expect(names.count(entry.first), "voice_ranks", "names of voices", entry.first);
    }
    const int64_t rows = manifest.max_phonemes, columns = 2 * manifest.style;
    for (size_t index = 0; index < manifest.voices.size(); index++) {
        const Voice &voice = manifest.voices[index];
        std::string place = element("voices", index);
        expect(voice.rows == rows && voice.columns == columns, place,
               std::to_string(rows) + " rows of " + std::to_string(columns) + " columns", voice.name);
        check_listed(sizes, place + ".file", voice.file);
        int64_t values = rows * columns;
        auto rank = manifest.voice_ranks.find(voice.name);
        if (rank != manifest.voice_ranks.end()) {
            expect(rank->second <= std::min(rows, columns), "voice_ranks['" + voice.name + "']",
                   "at most " + std::to_string(std::min(rows, columns)), std::to_string(rank->second));
            values = rank->second * (rows + columns);
        }
        expect(sizes.at(voice.file) == 4 * values, place + ".file",
               "a file of " + std::to_string(4 * values) + " bytes", std::to_string(sizes.at(voice.file)));
    }
}

// Checks that the module's folder has the libraries of all stages, and nothing that a reader reads.
void check_module(const Manifest &manifest) {
    if (!manifest.module) return;
    const std::string &folder = manifest.module->folder;
    expect(manifest.runtime_library.empty(), "runtime_library", "'' beside a module, which has it", "a path");
    for (const Stage &stage : manifest.stages) {
        for (const Library &library : stage.libraries) {
            expect(manifest.module->holds(library.file), "module.folder", "the directory of all libraries of stages",
                   folder);
        }
    }
    auto check_outside = [&](const std::string &place, const std::string &path) {
        expect(!manifest.module->holds(path), place, "a file outside of the module's folder", path);
    };
    check_outside("parameters.file", manifest.parameter_file);
    for (size_t index = 0; index < manifest.voices.size(); index++) {
        check_outside(element("voices", index) + ".file", manifest.voices[index].file);
    }
}

// Checks that no content has two uses: a stage's library that is TVM's runtime would end the process.
void check_uses(const Manifest &manifest) {
    std::map<std::string, std::string> digests, users;
    for (const FileEntry &entry : manifest.files) digests[entry.path] = entry.sha256;
    auto check = [&](const std::string &use, const std::string &path) {
        // Where the app brings the runtime its path is empty.
        if (path.empty()) return;
        const std::string &other = users.emplace(digests.at(path), use).first->second;
        expect(use == other, use, "files with another content than those of " + other, path);
    };
    check("runtime_library", manifest.runtime_library);
    for (const auto &[device, path] : manifest.device_libraries) check("device_libraries['" + device + "']", path);
    for (const Stage &stage : manifest.stages) {
        for (const Library &library : stage.libraries) check("stages", library.file);
    }
    check("parameters", manifest.parameter_file);
    for (const Voice &voice : manifest.voices) check("voices", voice.file);
}

}  // namespace

void check_consistency(const Manifest &manifest) {
    check_paths(manifest.files);
    Sizes sizes = check_sizes(manifest.files);
    check_runtimes(manifest, sizes);
    check_unique("target.levels", manifest.target.levels);
    check_precision(manifest);
    check_parameters(manifest, sizes);
    check_scales(manifest.tensors);
    check_transforms(manifest);
    check_stages(manifest, sizes);
    check_devices(manifest);
    check_voices(manifest, sizes);
    check_uses(manifest);
    check_module(manifest);
    std::map<std::string, FileEntry> files;
    for (const FileEntry &entry : manifest.files) files[entry.path] = entry;
    Blocks::read(manifest.extensions, files);
    expect(!manifest.vocabulary.count(""), "vocabulary", "phonemes of at least one character", "''");
}

}  // namespace kokoro
