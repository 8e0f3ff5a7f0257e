// The manifest of a bundle. Field names are the keys of the file; `parse.cpp` has the rules for their values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "msgpack.h"
#include "signatures.h"

namespace kokoro {

constexpr char MANIFEST_NAME[] = "manifest.msgpack";
constexpr int64_t ALIGNMENT = 64;  // generated code assumes that every tensor starts at a multiple of it
constexpr char SCALES[] = "_scales";  // ends the name of the tensor of scales, after the name of the weight
constexpr char DEVICES_REQUIRED[] = "devices";      // required by bundles with stages on other devices than the CPU
constexpr char PRECISION_REQUIRED[] = "precision";  // by those with parameters or voices in smaller forms
constexpr char TRANSFORMS_REQUIRED[] = "transforms";  // by those with weights that are transformed when they are loaded
constexpr char MODULE_REQUIRED[] = "module";        // by those whose stages are one module with this library

using Matrix = std::vector<std::vector<double>>;

struct Library {
    std::string level;
    int64_t bucket;  // largest length along the stage's axis
    std::string file;
    std::string function;
};

struct Stage : StageSignature {
    std::string device;
    std::vector<std::string> parameters;  // tensors in the order in which a call takes them after the inputs
    std::vector<Library> libraries;

    // Returns the libraries for a CPU level, the smallest bucket first.
    std::vector<Library> buckets(const std::string &of_level) const;
};

// Returns the bytes of one element of a type.
int64_t item_size(const std::string &dtype);

struct Tensor {
    std::string name;
    std::string dtype;
    std::vector<int64_t> shape;
    int64_t offset;
    int64_t bytes;
    std::string layout;
};

struct Voice {
    std::string name;
    std::string file;
    int64_t rows;
    int64_t columns;
};

struct FileEntry {
    std::string path;
    int64_t bytes;
    std::string sha256;
};

struct CpuLevel {
    std::string name;
    std::vector<std::string> features;
};

struct Target {
    std::string name;
    std::string system;
    std::string machine;
    std::string minimum_os;
    std::vector<CpuLevel> levels;
};

struct Module {
    std::string folder;
    std::string identity;

    // Returns whether a file belongs to the module, which an app ships apart from the bundle.
    bool holds(const std::string &path) const { return path.rfind(folder + "/", 0) == 0; }
};

struct Manifest {
    std::vector<std::string> requirements;  // the key `requires`, which is a keyword of C++20
    std::string model;
    bool synthetic;
    int64_t hidden;
    int64_t style;
    std::string tvm;
    std::string tvm_ffi;
    Target target;
    std::string runtime_library;
    std::vector<Stage> stages;
    std::string parameter_file;
    std::vector<Tensor> tensors;
    std::unordered_map<std::string, int64_t> vocabulary;  // UTF-8 of one or more code points
    int64_t max_phonemes;
    std::vector<Voice> voices;
    std::vector<FileEntry> files;
    Value extensions;  // a map; not checked, except `blocks`
    std::map<std::string, std::string> device_libraries;
    std::map<std::string, int64_t> voice_ranks;
    std::map<std::string, Matrix> transforms;  // [products, taps], by the layout of the weights that they transform
    std::optional<Module> module;

    bool requires_of_reader(const std::string &name) const;
    // Returns the paths of all libraries that are loaded for a CPU level.
    std::set<std::string> stage_files(const std::string &level) const;
};

}  // namespace kokoro
