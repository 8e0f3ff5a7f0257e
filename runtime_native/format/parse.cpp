#include "parse.h"

#include <algorithm>

#include "../base/errors.h"
#include "cross_checks.h"
#include "schema.h"

namespace kokoro {

namespace {

constexpr int64_t LENGTH = 1 << 16;
constexpr int64_t SIZE = int64_t{1} << 31;

std::vector<std::string> read_texts(const Node &node, size_t at_most) {
    return node.elements(0, at_most, read_text);
}

void check_named_texts(const Node &node) {
    for (const auto &entry : node.named()) entry.second.text();
}

std::vector<std::string> read_requirements(const Node &root) {
    auto found = read_texts(root.child("requires"), 64);
    for (const std::string &name : found) {
        if (name != DEVICES_REQUIRED && name != PRECISION_REQUIRED && name != TRANSFORMS_REQUIRED &&
            name != MODULE_REQUIRED) {
            throw Error(KOKORO_REQUIREMENT_ERROR,
                        "The bundle requires '" + name + "' of its reader, this runtime supports devices, precision, "
                        "transforms, module: install a newer runtime, or export the bundle without.");
        }
    }
    return found;
}

void read_model(const Node &node, Manifest &manifest) {
    auto [name, source, sha256, config, synthetic, hidden, style] =
        node.fields("name", "source", "sha256", "config_sha256", "synthetic", "hidden", "style");
    manifest.model = name.text();
    source.one_of({"hub", "packages", "file", "synthetic"});
    sha256.digest();
    config.digest();
    manifest.synthetic = synthetic.boolean();
    manifest.hidden = hidden.integer(1, LENGTH);
    manifest.style = style.integer(1, LENGTH);
}

void read_versions(const Node &node, Manifest &manifest) {
    auto [exporter, tvm, tvm_ffi, vm] = node.fields("kokoro_export", "tvm", "tvm_ffi", "vm");
    exporter.text();
    manifest.tvm = tvm.text();
    manifest.tvm_ffi = tvm_ffi.text();
    vm.text();
}

void check_materials(const Node &node) {
    auto [packages, tools, sources, commit] = node.fields("packages", "tools", "sources", "commit");
    check_named_texts(packages);
    check_named_texts(tools);
    sources.digest();
    commit.text(0, 64);
}

CpuLevel read_level(const Node &node) {
    auto [name, features] = node.fields("name", "features");
    return {name.text(), read_texts(features, 256)};
}

Target read_target(const Node &node) {
    auto [name, triple, system, machine, minimum_os, levels] =
        node.fields("name", "triple", "system", "machine", "minimum_os", "levels");
    triple.text();
    return {name.text(), system.text(), machine.text(), minimum_os.text(), levels.elements(1, 16, read_level)};
}

void check_audio(const Node &node) {
    auto [sample_rate, per_frame, frames] = node.fields("sample_rate", "samples_per_frame", "frames_per_second");
    // Other rates are refused whatever they are.
    sample_rate.integer(SAMPLE_RATE, SAMPLE_RATE);
    per_frame.integer(SAMPLES_PER_FRAME, SAMPLES_PER_FRAME);
    frames.integer(FRAMES_PER_SECOND, FRAMES_PER_SECOND);
}

Dim read_dim(const Node &node) {
    const Array *parts = node.value.array();
    if (!parts) return {0, "", node.integer(1, SIZE)};
    auto found = node.elements(2, 3, [](const Node &each) { return each; });
    int64_t offset = found.size() == 3 ? found[2].integer(1, LENGTH) : 0;
    return {found[0].integer(1, LENGTH), found[1].one_of({"tokens", "frames"}), offset};
}

TensorSignature read_signature(const Node &node) {
    auto [name, dtype, shape] = node.fields("name", "dtype", "shape");
    return {name.text(), dtype.one_of({"float32", "int64", "int32"}), shape.elements(1, 8, read_dim)};
}

Library read_library(const Node &node) {
    auto [level, bucket, file, function] = node.fields("level", "bucket", "file", "function");
    return {level.text(), bucket.integer(1, LENGTH), file.relative_path(), function.text()};
}

Stage read_stage(const Node &node) {
    auto [name, device, axis, minimum, inputs, outputs, parameters, libraries] = node.fields(
        "name", "device", "axis", "minimum", "inputs", "outputs", "parameters", "libraries");
    Stage stage;
    stage.name = name.one_of({"bert", "duration", "text_encoder", "f0n", "source", "decoder"});
    stage.device = device.one_of({"cpu", "metal", "cuda"});
    stage.axis = axis.one_of({"tokens", "frames"});
    stage.minimum = minimum.integer(1, LENGTH);
    stage.inputs = inputs.elements(1, 16, read_signature);
    stage.outputs = outputs.elements(1, 16, read_signature);
    stage.parameters = read_texts(parameters, 8192);
    stage.libraries = libraries.elements(1, 256, read_library);
    return stage;
}

Tensor read_tensor(const Node &node) {
    auto [name, dtype, shape, offset, bytes, layout] =
        node.fields("name", "dtype", "shape", "offset", "bytes", "layout");
    return {name.text(), dtype.one_of({"float32", "int64", "int32", "float16", "int8"}),
            shape.elements(0, 8, [](const Node &each) { return each.integer(1, SIZE); }),
            offset.integer(0, INT64_MAX), bytes.integer(1, INT64_MAX), layout.text()};
}

void read_parameters(const Node &node, Manifest &manifest) {
    auto [file, tensors] = node.fields("file", "tensors");
    manifest.parameter_file = file.relative_path();
    manifest.tensors = tensors.elements(0, 8192, read_tensor);
}

std::vector<double> read_row(const Node &node) {
    return node.elements(1, 64, [](const Node &each) { return each.number(); });
}

Voice read_voice(const Node &node) {
    auto [name, file, rows, columns] = node.fields("name", "file", "rows", "columns");
    return {name.text(), file.relative_path(), rows.integer(1, LENGTH), columns.integer(1, LENGTH)};
}

FileEntry read_file_entry(const Node &node) {
    auto [path, bytes, sha256] = node.fields("path", "bytes", "sha256");
    return {path.relative_path(), bytes.integer(0, INT64_MAX), sha256.digest()};
}

void check_keys(const Node &root, const Manifest &manifest) {
    std::vector<std::string> keys = {"format", "version", "requires", "model", "versions", "materials", "target",
                                     "audio", "runtime_library", "stages", "parameters", "vocabulary",
                                     "max_phonemes", "voices", "parity", "files", "extensions"};
    if (manifest.requires_of_reader(DEVICES_REQUIRED)) keys.push_back("device_libraries");
    if (manifest.requires_of_reader(PRECISION_REQUIRED)) keys.push_back("voice_ranks");
    if (manifest.requires_of_reader(TRANSFORMS_REQUIRED)) keys.push_back("transforms");
    if (manifest.requires_of_reader(MODULE_REQUIRED)) keys.push_back("module");
    root.check_keys(keys);
}

void read_version(const Node &root) {
    root.child("format").one_of({"kokoro-bundle"});
    int64_t version = root.child("version").integer(0, INT64_MAX);
    if (version != 1) {
        throw Error(KOKORO_FORMAT_VERSION_ERROR,
                    "The bundle has format version " + std::to_string(version) + ", this runtime reads 1: " +
                        (version > 1 ? "install a newer runtime." : "export the bundle again."));
    }
}

}  // namespace

Manifest parse_manifest(std::string_view data) {
    Value document = unpack(data);
    Node root(document, "");
    // The version and the requirements come before the other keys, because they decide which keys there are.
    read_version(root);
    Manifest manifest;
    manifest.requirements = read_requirements(root);
    check_keys(root, manifest);
    read_model(root.child("model"), manifest);
    read_versions(root.child("versions"), manifest);
    check_materials(root.child("materials"));
    manifest.target = read_target(root.child("target"));
    check_audio(root.child("audio"));
    Node runtime = root.child("runtime_library");
    bool absent = runtime.value.string() && runtime.value.string()->empty();
    manifest.runtime_library = absent ? "" : runtime.relative_path();
    manifest.stages = root.child("stages").elements(1, 6, read_stage);
    read_parameters(root.child("parameters"), manifest);
    for (const auto &[phoneme, token] : root.child("vocabulary").entries()) {
        manifest.vocabulary[phoneme] = token.integer(0, 1 << 20);
    }
    manifest.max_phonemes = root.child("max_phonemes").integer(1, LENGTH);
    manifest.voices = root.child("voices").elements(0, 4096, read_voice);
    for (const auto &entry : root.child("parity").named()) entry.second.check_scalar();
    manifest.files = root.child("files").elements(1, 4096, read_file_entry);
    root.child("extensions").named();
    manifest.extensions = root.child("extensions").value;
    if (manifest.requires_of_reader(DEVICES_REQUIRED)) {
        for (const auto &[device, path] : root.child("device_libraries").named()) {
            manifest.device_libraries[device] = path.relative_path();
        }
    }
    if (manifest.requires_of_reader(PRECISION_REQUIRED)) {
        for (const auto &[voice, rank] : root.child("voice_ranks").named()) {
            manifest.voice_ranks[voice] = rank.integer(1, LENGTH);
        }
    }
    if (manifest.requires_of_reader(TRANSFORMS_REQUIRED)) {
        for (const auto &[layout, matrix] : root.child("transforms").named()) {
            manifest.transforms[layout] = matrix.elements(1, 64, read_row);
        }
    }
    if (manifest.requires_of_reader(MODULE_REQUIRED)) {
        auto [folder, identity] = root.child("module").fields("folder", "identity");
        manifest.module = Module{folder.relative_path(), identity.digest()};
    }
    check_consistency(manifest);
    return manifest;
}

}  // namespace kokoro
