// TVM stores tensors in JSON in base64, which a bundle never has.
#pragma once

#include "serialisation.h"

namespace tvm::support {

class Base64OutStream : public BytesOutStream {
public:
    explicit Base64OutStream(Stream *) : BytesOutStream(nullptr) {
        TVM_FFI_THROW(InternalError) << "This runtime writes no JSON.";
    }
    void Finish() {}
};

class Base64InStream : public BytesInStream {
public:
    explicit Base64InStream(Stream *) : BytesInStream(std::string()) {
        TVM_FFI_THROW(InternalError) << "This runtime reads no JSON.";
    }
    void InitPosition() {}
};

}  // namespace tvm::support
