// TVM's device API over the stand-in's memory; everything happens at once, so there is nothing to wait for.
#include "device.h"

#include <tvm/ffi/function.h>
#include <tvm/runtime/device_api.h>

#include <cstring>
#include <stdexcept>

namespace stand_in {

Memory& DeviceMemory() {
  static Memory* memory = new Memory(kIsCuda);
  return *memory;
}

namespace {

using tvm::Device;
using tvm::runtime::DeviceAPI;
using tvm::runtime::DeviceAttrKind;

template <typename Call>
auto Guarded(Call call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::runtime_error& error) {
    TVM_FFI_THROW(RuntimeError) << error.what();
  }
  TVM_FFI_UNREACHABLE();
}

class StandInDevice final : public DeviceAPI {
 public:
  void SetDevice(Device device) final { RequireFirst(device); }

  void GetAttr(Device device, DeviceAttrKind kind, tvm::ffi::Any* result) final {
    using namespace tvm::runtime;
    if (kind == kExist) *result = int(device.device_id == 0);
    if (kind == kMaxThreadsPerBlock) *result = 1024;
    if (kind == kWarpSize) *result = 32;
    if (kind == kDeviceName) *result = tvm::ffi::String("stand-in");
    if (kIsCuda && kind == kMaxSharedMemoryPerBlock) *result = 48 << 10;
    if (kIsCuda && kind == kComputeVersion) *result = tvm::ffi::String("8.0");
    if (kIsCuda && kind == kMultiProcessorCount) *result = 1;
    if (kind == kTotalGlobalMemory) *result = int64_t{16} << 30;
  }

  void* AllocDataSpace(Device device, size_t size, size_t alignment, DLDataType) final {
    RequireFirst(device);
    return Guarded([&] { return DeviceMemory().Allocate(size); });
  }
  using DeviceAPI::AllocDataSpace;

  void FreeDataSpace(Device, void* handle) final {
    Guarded([&] { DeviceMemory().Free(handle); });
  }

  void StreamSync(Device, TVMStreamHandle) final {}

  bool SupportsDevicePointerArithmeticsOnHost() final { return kIsCuda; }

 protected:
  void CopyDataFromTo(const void* from, size_t from_offset, void* to, size_t to_offset, size_t size,
                      Device from_device, Device to_device, DLDataType, TVMStreamHandle) final {
    auto address = [size](const void* data, size_t offset, Device device) {
      if (device.device_type == kDeviceType) return DeviceMemory().Resolve(data, offset, size);
      if (device.device_type != kDLCPU) throw std::runtime_error("device memory: copied to another device");
      return const_cast<char*>(static_cast<const char*>(data)) + offset;
    };
    Guarded([&] {
      std::memmove(address(to, to_offset, to_device), address(from, from_offset, from_device), size);
    });
  }

 private:
  static void RequireFirst(Device device) {
    if (device.device_id != 0) TVM_FFI_THROW(RuntimeError) << "the stand-in plays one device, number 0";
  }
};

TVM_FFI_STATIC_INIT_BLOCK() {
  auto api = tvm::ffi::Function::FromPacked([](tvm::ffi::PackedArgs, tvm::ffi::Any* result) {
    static StandInDevice* device = new StandInDevice();
    *result = static_cast<void*>(static_cast<DeviceAPI*>(device));
  });
  tvm::ffi::Function::SetGlobal("device_api." STAND_IN_DEVICE, api, true);
}

}  // namespace
}  // namespace stand_in
