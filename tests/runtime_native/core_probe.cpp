// Answers questions with parts of the core; `native_probe.py` describes the form. Texts are in hexadecimal digits.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include "base/errors.h"
#include "base/sha256.h"
#include "engine/machine.h"
#include "engine/native.h"
#include "format/transforms.h"
#include "model/noise.h"
#include "sized_struct.h"

// Attempts to seal a file for which a pipe holds a page of it, as the system does while it looks for memory to free.
static int attempts_held = 0;

extern "C" int fcntl(int descriptor, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    const long argument = va_arg(arguments, long);
    va_end(arguments);
    int ends[2] = {-1, -1};
    const bool held = command == F_ADD_SEALS && attempts_held > 0;
    if (held) {
        --attempts_held;
        loff_t start = 0;
        if (pipe(ends) || splice(descriptor, &start, ends[1], nullptr, 4096, 0) <= 0) abort();
    }
    const int result = static_cast<int>(syscall(SYS_fcntl, descriptor, command, argument));
    if (held) {
        const int reason = errno;
        close(ends[0]);
        close(ends[1]);
        errno = reason;
    }
    return result;
}

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

// Returns the digest of a library's file that can only be read, or the code of the error.
std::string library(std::istream &question) {
    question >> attempts_held;
    try {
        LibraryFile file("held.so", text(question));
        std::ofstream changed(file.path());
        if (changed.put('x').flush()) return "written";
        std::ifstream content(file.path());
        return sha256_of(std::string(std::istreambuf_iterator<char>(content), {}));
    } catch (const Error &error) {
        return std::to_string(error.code);
    }
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

// A struct whose first version had one field; this library knows two.
struct Sized {
    size_t size;
    uint64_t first, second;
};

// Returns the fields that the library finds in a struct of some size, or that it refuses it.
std::string known(std::istream &question) {
    uint64_t given[4];
    for (uint64_t &each : given) question >> each;
    try {
        Sized found = known_fields(reinterpret_cast<const Sized *>(given), 16, "struct");
        return std::to_string(found.first) + " " + std::to_string(found.second);
    } catch (const Error &error) {
        return std::to_string(error.code);
    }
}

// Returns the bits of weights of one block that are transformed.
std::string transformed(std::istream &question) {
    size_t products, taps, size;
    question >> products >> taps >> size;
    Matrix matrix(products, std::vector<double>(taps));
    for (auto &row : matrix) {
        for (double &each : row) {
            uint64_t bits;
            question >> bits;
            std::memcpy(&each, &bits, sizeof each);
        }
    }
    std::string stored = text(question);
    Tensor tensor{"weight", "float16", {1, int64_t(taps), int64_t(size), 1}, 0, int64_t(stored.size()), "taps"};
    std::vector<uint16_t> weights(stored.size() / 2), found(products * size);
    std::memcpy(weights.data(), stored.data(), stored.size());
    transform(tensor, matrix, weights.data(), found.data());
    std::string answer;
    for (uint16_t each : found) answer += std::to_string(each) + " ";
    return answer;
}

// The level, or the reason for none, of a processor with the features of the first of two levels.
std::string chosen(std::istream &question) {
    CpuLevel level{"asked", {}}, plain{"plain", {}};
    for (std::string feature; question >> feature;) level.features.push_back(feature);
    const std::set<std::string> features(level.features.begin(), level.features.end());
    const std::string best = choose_level({level, plain}, features, std::nullopt).name;
    try {
        return best + " " + choose_level({level}, features, "asked").name;
    } catch (const Error &error) {
        return best + " " + error.what();
    }
}

std::string answer(std::istream &question) {
    std::string kind;
    question >> kind;
    if (kind == "level") return chosen(question);
    if (kind == "scalar") return digest(Sha256::Path::SCALAR, question);
    if (kind == "struct") return known(question);
    if (kind == "library") return library(question);
    if (kind == "transform") return transformed(question);
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
