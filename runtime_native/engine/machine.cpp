#include "machine.h"

#include <errno.h>
#if !defined(__wasm__)
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>
#endif
#if defined(__APPLE__)
#include <TargetConditionals.h>
#include <sys/sysctl.h>
#endif
#if defined(__linux__)
#include <sys/syscall.h>
#endif
#if defined(__ANDROID__)
#include <android/api-level.h>
#endif

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "../base/errors.h"

namespace kokoro {

namespace {

#if !defined(__wasm__)
constexpr int64_t LIBRARIES = 64 << 20;  // bytes of address space that TVM takes at most, without parameters
constexpr int64_t STACK = 8 << 20;       // of a thread, as most systems have it
#endif

#if !defined(__wasm__)

std::string lower(std::string text) {
    for (char &each : text) each |= each >= 'A' && each <= 'Z' ? 0x20 : 0;
    return text;
}

std::string os_version() {
#if defined(__APPLE__)
    char version[64] = "";
    size_t size = sizeof version;
    bool known = !sysctlbyname("kern.osproductversion", version, &size, nullptr, 0);
#if TARGET_OS_IPHONE
    // Where an app may not ask, iOS itself has loaded this library, and loads none that is for a later version.
    constexpr int OLDEST = __ENVIRONMENT_IPHONE_OS_VERSION_MIN_REQUIRED__;
    return "ios " + (known ? version : std::to_string(OLDEST / 10000) + "." + std::to_string(OLDEST / 100 % 100));
#else
    return known ? "macos " + std::string(version) : "";
#endif
#elif defined(__ANDROID__)
    return "android " + std::to_string(android_get_device_api_level());
#elif defined(_CS_GNU_LIBC_VERSION)
    char version[64] = "";
    // Another C library, such as musl, does not have the name.
    return confstr(_CS_GNU_LIBC_VERSION, version, sizeof version) ? version : "";
#else
    return "";
#endif
}

std::set<std::string> cpu_features() {
#if defined(__APPLE__)
    // All features that CPU levels of the exporter ask for beyond those of every processor of Apple's.
    std::set<std::string> found;
    for (const char *name : {"FEAT_BF16"}) {
        int has = 0;
        size_t size = sizeof has;
        // Older processors and systems do not know the name, and an app for iOS may not be allowed to ask.
        int failed = sysctlbyname(("hw.optional.arm." + std::string(name)).c_str(), &has, &size, nullptr, 0);
        if (!failed && has == 1) found.insert(name);
    }
    return found;
#else
    std::ifstream cpuinfo("/proc/cpuinfo");
    std::string text{std::istreambuf_iterator<char>(cpuinfo), {}};
    if (text.empty()) {
        throw Error(KOKORO_UNKNOWN_PROCESSOR_ERROR,
                    "The processor's features cannot be read from /proc/cpuinfo: mount /proc, which containers and "
                    "chroots may lack.");
    }
    return parse_cpuinfo(text);
#endif
}

#endif

// Returns the numbers of a version; parts that are no numbers do not count.
std::vector<uint64_t> numbers(const std::string &version) {
    std::vector<uint64_t> found;
    std::istringstream parts(version);
    for (std::string part; std::getline(parts, part, '.');) {
        if (part.empty() || part.find_first_not_of("0123456789") != part.npos) continue;
        uint64_t number = 0;
        for (char digit : part) number = std::min<uint64_t>(number * 10 + (digit - '0'), 1 << 30);
        found.push_back(number);
    }
    return found;
}

constexpr char TILES[] = "amx_tile";  // registers of 8 KiB, which Linux gives only to a process that has asked for them

// Asks Linux for AMX's tiles, and returns whether it grants them; one before 5.16 does not know them. Only whoever
// needs them should ask: from then on each signal handler's own stack needs 8 KiB for them.
bool tiles_are_permitted() {
#if defined(__linux__) && defined(__x86_64__)
    constexpr long ASK_FOR_STATE = 0x1023, TILE_DATA = 18;
    static const bool permitted = syscall(SYS_arch_prctl, ASK_FOR_STATE, TILE_DATA) == 0;
    return permitted;
#else
    return false;
#endif
}

// Returns the features that a level needs and this processor lacks, or what the system refuses.
std::vector<std::string> lacking(const CpuLevel &level, const std::set<std::string> &features) {
    std::vector<std::string> found;
    bool has_tiles = false;
    for (const std::string &feature : level.features) {
        has_tiles |= feature == TILES;
        if (!features.count(feature)) found.push_back(feature);
    }
    if (has_tiles && found.empty() && !tiles_are_permitted()) {
        found.push_back(std::string(TILES) + ", which Linux refuses this process");
    }
    return found;
}

}  // namespace

#if defined(__wasm__)

// An engine that has started this module has all that it uses.
Machine this_machine() { return {"web", "wasm32", "webassembly 2", {}}; }

// Memory that is used is not reserved.
void check_memory(int64_t, int) {}

#else

Machine this_machine() {
    utsname name;
    uname(&name);
    std::string system = lower(name.sysname), machine = lower(name.machine);
#if defined(__ANDROID__)
    system = "android";
#elif defined(__APPLE__) && TARGET_OS_IPHONE
    // uname names the device, such as iPhone12,1.
    system = "ios", machine = "arm64";
#endif
    return {system == "darwin" ? "macos" : system, machine == "amd64" ? "x86_64" : machine, os_version(),
            cpu_features()};
}

void check_memory(int64_t parameters, int threads) {
    size_t size = parameters + threads * STACK + LIBRARIES;
    void *memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        throw Error(KOKORO_RESOURCE_ERROR, "Mapping " + std::to_string(size) + " bytes failed (" +
                                               std::strerror(errno) + "): free memory or raise the limits of this "
                                               "process (ulimit), and try again.");
    }
    munmap(memory, size);
}

#endif

std::set<std::string> parse_cpuinfo(const std::string &text) {
    std::set<std::string> common;
    bool first = true;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        size_t colon = line.find(':');
        std::string key = line.substr(0, colon);
        key.erase(key.find_last_not_of(" \t") + 1);
        if (colon == line.npos || (key != "flags" && key != "Features")) continue;
        std::istringstream words(line.substr(colon + 1));
        std::set<std::string> core{std::istream_iterator<std::string>(words), {}}, both;
        std::set_intersection(core.begin(), core.end(), common.begin(), common.end(),
                              std::inserter(both, both.end()));
        // Big and little cores may differ.
        common = first ? core : both;
        first = false;
    }
    return common;
}

bool at_least(const std::string &found, const std::string &required) {
    auto name = [](const std::string &version) { return version.substr(0, version.find(' ')); };
    auto rest = [](const std::string &version) {
        size_t space = version.find(' ');
        return space == version.npos ? "" : version.substr(space + 1);
    };
    return name(found) == name(required) && numbers(rest(found)) >= numbers(rest(required));
}

void check_target(const Target &target, const Machine &machine) {
    if (target.system != machine.system || target.machine != machine.machine) {
        throw Error(KOKORO_PLATFORM_ERROR, "This bundle is for " + target.name + " (" + target.system + " on " +
                                               target.machine + ") and this machine is " + machine.system + " on " +
                                               machine.machine + ": export a bundle with a --target for this machine.");
    }
    if (!at_least(machine.os_version, target.minimum_os)) {
        std::string found = machine.os_version.empty() ? "another C library" : machine.os_version;
        throw Error(KOKORO_PLATFORM_ERROR, "This bundle is for " + target.name + " with " + target.minimum_os +
                                               " or newer and this machine has " + found +
                                               ": use a newer system or export for this one.");
    }
}

bool runs(const CpuLevel &level, const std::set<std::string> &features) { return lacking(level, features).empty(); }

CpuLevel choose_level(const std::vector<CpuLevel> &levels, const std::set<std::string> &features,
                      const std::optional<std::string> &forced) {
    std::string reasons;
    std::vector<std::string> names;
    for (const CpuLevel &level : levels) {
        names.push_back(level.name);
        if (forced && *forced != level.name) continue;
        std::vector<std::string> missing = lacking(level, features);
        if (missing.empty()) return level;
        reasons += (reasons.empty() ? "" : "; ") + level.name + " needs " + joined(missing);
    }
    if (reasons.empty()) {
        throw Error(KOKORO_USAGE_ERROR,
                    "The bundle has no CPU level '" + *forced + "': it has " + joined(names) + ".");
    }
    throw Error(KOKORO_CPU_LEVEL_ERROR, "This processor lacks features that the bundle's libraries use: " + reasons +
                                            ". Export with a lower --cpu-level where the target has one, or speak "
                                            "on a newer processor.");
}

}  // namespace kokoro
