#include "tvm.h"

#include <cstring>
#include <memory>
#include <utility>

namespace kokoro {

namespace {

// The part of an object after its header.
template <class Cell>
const Cell *cell(const TVMFFIAny &value) {
    return reinterpret_cast<const Cell *>(reinterpret_cast<const char *>(value.v_obj) + sizeof(TVMFFIObject));
}

const DLTensor &tensor_of(const TVMFFIAny &value) {
    if (value.type_index != kTVMFFITensor) throw TvmError("expected a tensor as result, found something else");
    return *cell<DLTensor>(value);
}

DLDataType data_type(const std::string &name) {
    if (name == "int64") return {kDLInt, 64, 1};
    if (name == "int32") return {kDLInt, 32, 1};
    if (name == "int8") return {kDLInt, 8, 1};
    if (name == "float16") return {kDLFloat, 16, 1};
    return {kDLFloat, 32, 1};
}

// What TVM refers to while it has the tensor.
struct Wrapped {
    DLManagedTensor tensor{};
    std::vector<int64_t> shape;
};

}  // namespace

void throw_raised() {
    TVMFFIObjectHandle handle = nullptr;
    TVMFFIErrorMoveFromRaised(&handle);
    if (!handle) throw TvmError("no reason given");
    Any error(handle, kTVMFFIError);
    TVMFFIByteArray message = cell<TVMFFIErrorCell>(error.view())->message;
    throw TvmError(std::string(message.data, message.size));
}

Any::Any(TVMFFIObjectHandle object, int32_t type) {
    value_.type_index = type;
    value_.v_obj = static_cast<TVMFFIObject *>(object);
}

Any &Any::operator=(Any &&other) noexcept {
    std::swap(value_, other.value_);
    return *this;
}

Any::~Any() {
    if (value_.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(value_.v_obj);
}

Any Any::operator()(const std::vector<TVMFFIAny> &arguments) const {
    TVMFFIAny result{};
    int failed = TVMFFIFunctionCall(value_.v_obj, const_cast<TVMFFIAny *>(arguments.data()),
                                    static_cast<int32_t>(arguments.size()), &result);
    if (failed) throw_raised();
    return Any(result);
}

Any Any::member(const std::string &name) const {
    TVMFFIAny without_imports{};
    without_imports.type_index = kTVMFFIBool;
    // Never destroyed: threads may still call TVM while the process ends.
    static const Any &get_function = *new Any(global_function("ffi.ModuleGetFunction"));
    Any function = get_function({value_, argument(name.c_str()), without_imports});
    if (!function.is_function()) throw TvmError("the library has no function " + name);
    return function;
}

const DLTensor &Any::tensor() const { return tensor_of(value_); }

std::vector<const DLTensor *> Any::tensors(size_t count) const {
    if (count == 1) return {&tensor()};
    auto items = value_.type_index == kTVMFFIArray ? cell<TVMFFISeqCell>(value_) : nullptr;
    if (!items || items->size != static_cast<int64_t>(count)) {
        throw TvmError("expected " + std::to_string(count) + " results, found others");
    }
    std::vector<const DLTensor *> found;
    for (size_t index = 0; index < count; index++) {
        found.push_back(&tensor_of(static_cast<const TVMFFIAny *>(items->data)[index]));
    }
    return found;
}

TVMFFIAny argument(int64_t number) {
    TVMFFIAny value{};
    value.type_index = kTVMFFIInt;
    value.v_int64 = number;
    return value;
}

TVMFFIAny argument(const char *text) {
    TVMFFIAny value{};
    value.type_index = kTVMFFIRawStr;
    value.v_c_str = text;
    return value;
}

Any global_function(const char *name) {
    TVMFFIByteArray bytes{name, std::strlen(name)};
    TVMFFIObjectHandle handle = nullptr;
    if (TVMFFIFunctionGetGlobal(&bytes, &handle)) throw_raised();
    if (!handle) throw TvmError(std::string("TVM has no function ") + name);
    return Any(handle, kTVMFFIFunction);
}

Any wrap_memory(const void *data, const std::string &dtype, const std::vector<int64_t> &shape) {
    auto wrapped = std::make_unique<Wrapped>();
    wrapped->shape = shape;
    DLTensor &tensor = wrapped->tensor.dl_tensor;
    tensor.data = const_cast<void *>(data);
    tensor.device = {kDLCPU, 0};
    tensor.dtype = data_type(dtype);
    tensor.ndim = static_cast<int32_t>(shape.size());
    tensor.shape = wrapped->shape.data();
    wrapped->tensor.manager_ctx = wrapped.get();
    wrapped->tensor.deleter = [](DLManagedTensor *self) { delete static_cast<Wrapped *>(self->manager_ctx); };
    TVMFFIObjectHandle handle = nullptr;
    if (TVMFFITensorFromDLPack(&wrapped->tensor, 64, 1, &handle)) throw_raised();
    wrapped.release();
    return Any(handle, kTVMFFITensor);
}

}  // namespace kokoro
