// TVM's wheel has the sources of its runtime, but not the headers that read and write its files. This stands for
// tvm/support/{io,serializer}.h and src/support/bytes_io.h: their names, and the encoding in which TVM's compiler writes
// an executable. Numbers are little-endian; what has a length begins with it as uint64.
#pragma once

#include <dlpack/dlpack.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/string.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tvm::support {

template <class T, class = void>
struct Serializer {
    static constexpr bool enabled = false;
};

class Stream {
public:
    virtual ~Stream() = default;
    virtual size_t Read(void *data, size_t size) = 0;
    virtual size_t Write(const void *data, size_t size) = 0;

    template <class T>
    void Write(const T &value) {
        Serializer<T>::Write(this, value);
    }
    template <class T>
    bool Read(T *value) {
        return Serializer<T>::Read(this, value);
    }
    template <class T>
    void WriteArray(const T *values, size_t count) {
        for (size_t index = 0; index < count; index++) Write<T>(values[index]);
    }
    template <class T>
    bool ReadArray(T *values, size_t count) {
        for (size_t index = 0; index < count; index++) {
            if (!Read<T>(values + index)) return false;
        }
        return true;
    }
};

// A value of a fixed size.
template <class T>
struct Serializer<T, std::enable_if_t<std::is_arithmetic_v<T> || std::is_enum_v<T>>> {
    static constexpr bool enabled = true;
    static void Write(Stream *stream, const T &value) { stream->Write(&value, sizeof value); }
    static bool Read(Stream *stream, T *value) { return stream->Read(value, sizeof *value) == sizeof *value; }
};

template <>
struct Serializer<DLDataType> {
    static constexpr bool enabled = true;
    static void Write(Stream *stream, const DLDataType &type) { stream->Write(&type, sizeof type); }
    static bool Read(Stream *stream, DLDataType *type) { return stream->Read(type, sizeof *type) == sizeof *type; }
};

template <>
struct Serializer<DLDevice> {
    static constexpr bool enabled = true;
    static void Write(Stream *stream, const DLDevice &device) {
        stream->Write(static_cast<int32_t>(device.device_type));
        stream->Write(device.device_id);
    }
    static bool Read(Stream *stream, DLDevice *device) {
        int32_t type;
        if (!stream->Read(&type) || !stream->Read(&device->device_id)) return false;
        device->device_type = static_cast<DLDeviceType>(type);
        return true;
    }
};

// The three types of strings.
template <class T>
struct Serializer<T, std::enable_if_t<std::is_same_v<T, std::string> || std::is_same_v<T, ffi::String> ||
                                      std::is_same_v<T, ffi::Bytes>>> {
    static constexpr bool enabled = true;
    static void Write(Stream *stream, const T &value) {
        stream->Write(static_cast<uint64_t>(value.size()));
        stream->Write(value.data(), value.size());
    }
    static bool Read(Stream *stream, T *value) {
        uint64_t size;
        if (!stream->Read(&size)) return false;
        std::string bytes(size, 0);
        bool whole = stream->Read(bytes.data(), size) == size;
        *value = T(std::move(bytes));
        return whole;
    }
};

// Arrays of both kinds.
template <class T>
struct Serializer<std::vector<T>> {
    static constexpr bool enabled = true;
    static void Write(Stream *stream, const std::vector<T> &values) {
        stream->Write(static_cast<uint64_t>(values.size()));
        stream->WriteArray(values.data(), values.size());
    }
    static bool Read(Stream *stream, std::vector<T> *values) {
        uint64_t count;
        if (!stream->Read(&count)) return false;
        values->resize(count);
        return stream->ReadArray(values->data(), count);
    }
};

template <class T>
struct Serializer<ffi::Array<T>> {
    static constexpr bool enabled = true;
    static void Write(Stream *stream, const ffi::Array<T> &values) {
        stream->Write(std::vector<T>(values.begin(), values.end()));
    }
    static bool Read(Stream *stream, ffi::Array<T> *values) {
        std::vector<T> found;
        if (!stream->Read(&found)) return false;
        *values = ffi::Array<T>(found.begin(), found.end());
        return true;
    }
};

class BytesInStream : public Stream {
public:
    using Stream::Read;
    using Stream::Write;
    explicit BytesInStream(const ffi::Bytes &bytes) : data_(bytes.data()), left_(bytes.size()) {}
    explicit BytesInStream(const std::string &bytes) : data_(bytes.data()), left_(bytes.size()) {}

    size_t Read(void *data, size_t size) override {
        size = std::min(size, left_);
        if (size) std::memcpy(data, data_, size);
        data_ += size;
        left_ -= size;
        return size;
    }
    size_t Write(const void *, size_t) override { TVM_FFI_THROW(InternalError) << "This stream is for reading."; }

private:
    const char *data_;
    size_t left_;
};

class BytesOutStream : public Stream {
public:
    using Stream::Read;
    using Stream::Write;
    explicit BytesOutStream(std::string *bytes) : bytes_(bytes) {}

    size_t Read(void *, size_t) override { TVM_FFI_THROW(InternalError) << "This stream is for writing."; }
    size_t Write(const void *data, size_t size) override {
        bytes_->append(static_cast<const char *>(data), size);
        return size;
    }

private:
    std::string *bytes_;
};

}  // namespace tvm::support
