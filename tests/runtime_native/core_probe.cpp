// Answers questions with parts of the core; `native_probe.py` describes the form. Texts are in hexadecimal digits.
#include <iostream>
#include <sstream>

#include "engine/machine.h"
#include "format/sha256.h"
#include "model/noise.h"

namespace {

using namespace kokoro;

std::string text(std::istream &question) {
    std::string digits, bytes;
    question >> digits;
    for (size_t at = 0; digits != "-" && at < digits.size(); at += 2) {
        bytes += static_cast<char>(std::stoi(digits.substr(at, 2), nullptr, 16));
    }
    return bytes;
}

// Returns the digest of a text that is added in pieces of some size.
std::string digest(Sha256::Path path, std::istream &question) {
    size_t size;
    question >> size;
    std::string bytes = text(question);
    Sha256 hash(path);
    for (size_t at = 0; at < bytes.size(); at += size) {
        std::string piece = bytes.substr(at, size);
        hash.add(piece.data(), piece.size());
    }
    return hash.digest();
}

std::string answer(std::istream &question) {
    std::string kind;
    question >> kind;
    if (kind == "scalar") return digest(Sha256::Path::SCALAR, question);
    if (kind == "best") return digest(Sha256::best_path(), question);
    if (kind == "version") {
        std::string found = text(question), required = text(question);
        return at_least(found, required) ? "1" : "0";
    }
    if (kind == "cpuinfo") {
        std::string features;
        for (const std::string &each : parse_cpuinfo(text(question))) features += each + " ";
        return features;
    }
    uint64_t seed;
    size_t count;
    question >> seed >> count;
    Floats noise = gaussian_noise(seed, count);
    return sha256_of({reinterpret_cast<const char *>(noise.data()), noise.size() * sizeof(float)});
}

}  // namespace

int main() {
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream question(line);
        std::cout << answer(question) << "\n";
    }
}
