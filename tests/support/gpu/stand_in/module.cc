// An exported library's device module: its kernels are compiled for the CPU when it is loaded, and launched
// as TVM's own module does it.
#include <dlfcn.h>
#include <tvm/ffi/cast.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "device.h"
#include "engine.h"

namespace stand_in {
namespace {

namespace ffi = tvm::ffi;

[[noreturn]] void Fail(const std::string& what) {
  TVM_FFI_THROW(RuntimeError) << "stand-in for " STAND_IN_DEVICE ": " << what;
  TVM_FFI_UNREACHABLE();
}

struct Function {
  std::vector<DLDataType> arguments;
  std::vector<std::string> launch_tags;
};

// Reads what TVM's serializer wrote: numbers as they lie in memory, lengths in 64 bits.
class Reader {
 public:
  explicit Reader(const ffi::Bytes& bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}

  template <typename T>
  T Number() {
    T value;
    std::memcpy(&value, Take(sizeof(T)), sizeof(T));
    return value;
  }

  std::string Text() {
    size_t size = Number<uint64_t>();
    return std::string(Take(size), size);
  }

  Function ReadFunction() {
    Function function;
    Text();  // its name again
    for (size_t i = Number<uint64_t>(); i > 0; --i) {
      DLDataType type;
      type.code = Number<uint8_t>();
      type.bits = Number<uint8_t>();
      type.lanes = Number<uint16_t>();
      function.arguments.push_back(type);
    }
    for (size_t i = Number<uint64_t>(); i > 0; --i) function.launch_tags.push_back(Text());
    for (size_t i = Number<uint64_t>(); i > 0; --i) {
      if (Number<int32_t>() != 0) Fail("tensor maps are not played");
    }
    return function;
  }

 private:
  const char* Take(size_t size) {
    if (size > size_t(end_ - at_)) Fail("the device module is cut off");
    at_ += size;
    return at_ - size;
  }

  const char* at_;
  const char* end_;
};

// What the extents and sizes of a launch may be.
struct Limits {
  unsigned group_memory;
  unsigned size_z;
  uint64_t grid_x, grid_yz;
};
constexpr Limits kLimits =
    kIsCuda ? Limits{99 << 10, 64, (1ull << 31) - 1, 65535} : Limits{32 << 10, 1024, ~0u, ~0u};
constexpr unsigned kStaticMemory = kIsCuda ? 48 << 10 : 32 << 10;

struct Sizes {
  Extent grid, group;
  unsigned dynamic_memory;
};

// Extents as the function's tags name them, from the numbers after its arguments.
Sizes ReadSizes(const std::string& name, const Function& function, const Kernel& kernel,
                const int64_t* numbers) {
  std::array<int64_t, 6> extents{1, 1, 1, 1, 1, 1};
  int64_t dynamic = 0;
  for (size_t i = 0; i < function.launch_tags.size(); ++i) {
    const std::string& tag = function.launch_tags[i];
    if (tag == "tirx.use_dyn_shared_memory") {
      dynamic = numbers[i];
    } else if (tag.rfind("blockIdx.", 0) == 0) {
      extents.at(tag.back() - 'x') = numbers[i];
    } else if (tag.rfind("threadIdx.", 0) == 0) {
      extents.at(3 + tag.back() - 'x') = numbers[i];
    } else {
      Fail("launch parameter " + tag + " is not played");
    }
  }
  auto require = [&](bool fits, const std::string& what) {
    if (!fits) Fail("kernel " + name + ": " + what);
  };
  for (int i = 0; i < 6; ++i) {
    int64_t maximum = i < 3 ? (i ? kLimits.grid_yz : kLimits.grid_x) : i < 5 ? 1024 : kLimits.size_z;
    require(extents[i] > 0 && extents[i] <= maximum,
            std::string(i < 3 ? "the grid's " : "the group's ") + char('x' + i % 3) + " is " +
                std::to_string(extents[i]) + ", expected 1 to " + std::to_string(maximum));
  }
  int64_t threads = extents[3] * extents[4] * extents[5];
  require(threads <= kernel.maximum_threads,
          std::to_string(threads) + " threads in a group, at most " + std::to_string(kernel.maximum_threads));
  require(kernel.used <= kStaticMemory && dynamic >= 0 && kernel.used + dynamic <= kLimits.group_memory,
          std::to_string(kernel.used) + " bytes of threadgroup memory and " + std::to_string(dynamic) +
              " dynamic ones, at most " + std::to_string(kStaticMemory) + " and " +
              std::to_string(kLimits.group_memory) + " in all");
  return {{unsigned(extents[0]), unsigned(extents[1]), unsigned(extents[2])},
          {unsigned(extents[3]), unsigned(extents[4]), unsigned(extents[5])},
          unsigned(dynamic)};
}

// A scalar in the 8 bytes that TVM's Metal runtime gives each; CUDA's takes the first bytes of it.
uint64_t Scalar(const TVMFFIAny& value, DLDataType type) {
  bool wide = type.bits == 64;
  if (type.lanes != 1 || (type.bits != 32 && !wide)) Fail("scalars of kernels have 32 or 64 bits");
  if (type.code == kDLInt || type.code == kDLUInt) {
    return wide ? uint64_t(value.v_int64) : uint64_t(uint32_t(value.v_int64));
  }
  if (type.code != kDLFloat) Fail("scalars of kernels are integers or floats");
  uint64_t bits = 0;
  float narrow = float(value.v_float64);
  if (wide) std::memcpy(&bits, &value.v_float64, 8);
  if (!wide) std::memcpy(&bits, &narrow, 4);
  return bits;
}

class StandInModule final : public ffi::ModuleObj {
 public:
  StandInModule(std::map<std::string, Function> functions, const std::map<std::string, std::string>& sources,
                ffi::Bytes bytes)
      : functions_(std::move(functions)), bytes_(std::move(bytes)) {
    Load(Compile(sources));
  }

  const char* kind() const final { return STAND_IN_DEVICE; }
  int GetPropertyMask() const final { return ffi::Module::kBinarySerializable | ffi::Module::kRunnable; }
  ffi::Bytes SaveToBytes() const final { return bytes_; }

  ffi::Optional<ffi::Function> GetFunction(const ffi::String& name) final {
    auto found = functions_.find(name);
    if (found == functions_.end()) return std::nullopt;
    ffi::ObjectPtr<ffi::Object> self = ffi::GetObjectPtr<ffi::Object>(this);
    std::string key = found->first;
    const Function& function = found->second;
    const Kernel* kernel = FindKernel(key);
    return ffi::Function::FromPacked([self, key, &function, kernel](ffi::PackedArgs values, ffi::Any*) {
      Call(key, function, *kernel, values);
    });
  }

 private:
  static void Call(const std::string& name, const Function& function, const Kernel& kernel,
                   ffi::PackedArgs values) {
    const TVMFFIAny* raw = reinterpret_cast<const TVMFFIAny*>(values.data());
    size_t count = function.arguments.size();
    if (values.size() != int(count + function.launch_tags.size()))
      Fail("kernel " + name + ": number of arguments");
    std::vector<int64_t> numbers;
    for (int i = count; i < values.size(); ++i) numbers.push_back(raw[i].v_int64);
    Sizes sizes = ReadSizes(name, function, kernel, numbers.data());
    std::vector<uint64_t> scalars;
    std::vector<void*> buffers, arguments;
    for (size_t i = 0; i < count; ++i) {
      if (function.arguments[i].code == kDLOpaqueHandle) {
        buffers.push_back(values[i].cast<void*>());
      } else {
        scalars.push_back(Scalar(raw[i], function.arguments[i]));
      }
    }
    RequirePlaces(name, function, buffers.size(), scalars.size());
    try {
      size_t buffer = 0, scalar = 0;
      for (const DLDataType& type : function.arguments) {
        bool handle = type.code == kDLOpaqueHandle;
        arguments.push_back(handle ? DeviceMemory().Resolve(buffers[buffer++], 0, 0)
                                   : static_cast<void*>(&scalars[scalar++]));
      }
      Launch(name, kernel, arguments.data(), sizes.grid, sizes.group, sizes.dynamic_memory,
             STAND_IN_FAST_MATH);
      for (void* handle : buffers) DeviceMemory().Check(handle);
    } catch (const std::runtime_error& error) {
      Fail("kernel " + name + ": " + error.what());
    }
  }

  // Metal has 31 places for buffers, the scalars share one of them, and they come last.
  static void RequirePlaces(const std::string& name, const Function& function, size_t buffers,
                            size_t scalars) {
    if (kIsCuda) return;
    for (size_t i = 0; i < buffers; ++i) {
      if (function.arguments[i].code != kDLOpaqueHandle) Fail("kernel " + name + ": scalars before buffers");
    }
    if (buffers + (scalars > 0) > 31) Fail("kernel " + name + ": more than 31 buffers");
    if (scalars * 8 > 4096) Fail("kernel " + name + ": more than 4096 bytes of scalars");
  }

  // Returns the path of a library with all kernels: the compiler is a Python script beside this source.
  static std::string Compile(const std::map<std::string, std::string>& sources) {
    namespace fs = std::filesystem;
    std::string place = (fs::temp_directory_path() / "stand-in-XXXXXX").string();
    if (mkdtemp(place.data()) == nullptr) Fail("no temporary directory");
    for (const auto& [name, source] : sources) {
      std::ofstream(fs::path(place) / (name + "." STAND_IN_DEVICE), std::ios::binary) << source;
    }
    std::string command = STAND_IN_COMPILER " " STAND_IN_DEVICE " " + std::to_string(STAND_IN_FAST_MATH) +
                          " '" + place + "' 2>&1";
    std::string output;
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) Fail("the compiler cannot be started");
    char buffer[4096];
    while (size_t size = fread(buffer, 1, sizeof(buffer), pipe)) output.append(buffer, size);
    int status = pclose(pipe);
    fs::remove_all(place);
    if (status != 0) Fail("kernels were not compiled:\n" + output);
    output.erase(output.find_last_not_of("\n") + 1);
    return output;
  }

  void Load(const std::string& path) {
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) Fail(dlerror());
    *static_cast<Waiting*>(dlsym(library_, "stand_in_waiting")) = kWaiting;
    for (const auto& [name, function] : functions_) FindKernel(name);
  }

  const Kernel* FindKernel(const std::string& name) const {
    auto kernel = static_cast<const Kernel*>(dlsym(library_, ("stand_in_kernel_" + name).c_str()));
    if (kernel == nullptr) Fail("the source has no kernel " + name);
    return kernel;
  }

  const std::map<std::string, Function> functions_;
  const ffi::Bytes bytes_;
  void* library_ = nullptr;  // stays in the process
};

ffi::Module LoadFromBytes(const ffi::Bytes& bytes) {
  Reader reader(bytes);
  std::string format = reader.Text();
  if (format != STAND_IN_DEVICE) Fail("the module holds \"" + format + "\", and only source can be played");
  std::map<std::string, Function> functions;
  for (size_t i = reader.Number<uint64_t>(); i > 0; --i) {
    std::string name = reader.Text();
    functions[name] = reader.ReadFunction();
  }
  std::map<std::string, std::string> sources;
  if (kIsCuda) {
    sources["module"] = reader.Text();
  } else {
    for (size_t i = reader.Number<uint64_t>(); i > 0; --i) {
      std::string name = reader.Text();
      sources[name] = reader.Text();
    }
  }
  return ffi::Module(ffi::make_object<StandInModule>(std::move(functions), sources, bytes));
}

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::Function::SetGlobal("ffi.Module.load_from_bytes." STAND_IN_DEVICE,
                           ffi::Function::FromTyped(LoadFromBytes), true);
}

}  // namespace
}  // namespace stand_in
