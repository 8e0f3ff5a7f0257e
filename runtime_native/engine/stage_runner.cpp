#include "stage_runner.h"

#include <cstring>
#include <numeric>

#include "../base/errors.h"
#include "../base/threads.h"

namespace kokoro {

namespace {

// Returns the bytes of a tensor of the given shape.
size_t size_of(const std::string &dtype, const std::vector<int64_t> &shape) {
    return std::accumulate(shape.begin(), shape.end(), item_size(dtype), std::multiplies<int64_t>());
}

}  // namespace

StageRunner::StageRunner(const Stage &stage, const std::string &level, BundleFiles &files,
                         const std::map<std::string, Any> &parameters, Worker &worker)
    : stage_(stage), libraries_(stage.buckets(level)), files_(files), worker_(worker) {
    for (const std::string &name : stage.parameters) parameters_.push_back(parameters.at(name).view());
    // All of them: later, another bundle may be in the place of this one.
    worker_.call([&] {
        for (const Library &library : libraries_) functions_.push_back(load_function(files, library));
    });
}

std::vector<Floats> StageRunner::run(int64_t length, const std::vector<Input> &inputs, const Replacements &replaced) {
    size_t index = 0;
    while (index < libraries_.size() && libraries_[index].bucket < length) index++;
    if (length < stage_.minimum || index == libraries_.size()) fail("no library holds an input of this length");
    std::vector<Floats> outputs;
    worker_.call([&] {
        files_.check_unchanged();
        try {
            outputs = call(functions_[index], length, inputs, replaced);
        } catch (const TvmError &failure) {
            if (!is_stopped()) fail(failure.what());
        }
    });
    if (is_stopped()) throw Error(KOKORO_CANCELLED, "The speech was stopped before its end: open another one.");
    return outputs;
}

// Runs on the worker's thread.
std::vector<Floats> StageRunner::call(const Any &function, int64_t length, const std::vector<Input> &inputs,
                                      const Replacements &replaced) const {
    std::vector<Any> tensors;
    std::vector<TVMFFIAny> arguments;
    for (size_t index = 0; index < stage_.inputs.size(); index++) {
        const TensorSignature &signature = stage_.inputs[index];
        std::vector<int64_t> shape = signature.concrete(length);
        if (size_of(signature.dtype, shape) != inputs.at(index).bytes) fail("an input of another size");
        tensors.push_back(wrap_memory(inputs[index].data, signature.dtype, shape));
        arguments.push_back(tensors.back().view());
    }
    for (size_t index = 0; index < parameters_.size(); index++) {
        auto found = replaced.find(stage_.parameters[index]);
        if (found != replaced.end())
            tensors.push_back(wrap_memory(found->second.values.data(), "float32", found->second.shape));
        arguments.push_back(found == replaced.end() ? parameters_[index] : tensors.back().view());
    }
    Any result = function(arguments);
    std::vector<Floats> outputs;
    for (const DLTensor *tensor : result.tensors(stage_.outputs.size())) {
        const TensorSignature &signature = stage_.outputs[outputs.size()];
        std::vector<int64_t> shape(tensor->shape, tensor->shape + tensor->ndim);
        bool is_float32 = tensor->dtype.code == kDLFloat && tensor->dtype.bits == 32 && tensor->dtype.lanes == 1;
        if (!is_float32 || shape != signature.concrete(length)) fail("expected another shape of " + signature.name);
        auto values = reinterpret_cast<const float *>(static_cast<const char *>(tensor->data) + tensor->byte_offset);
        outputs.emplace_back(values, values + size_of("float32", shape) / sizeof(float));
    }
    return outputs;
}

void StageRunner::fail(const std::string &reason) const {
    throw Error(KOKORO_EXECUTION_ERROR, "The stage '" + stage_.name + "' failed: " + reason +
                                            ". The bundle stays usable; if memory was short, speak shorter inputs, "
                                            "otherwise please report this.");
}

}  // namespace kokoro
