// Describes this machine, and checks that a bundle was made for it.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "../format/manifest.h"

namespace kokoro {

struct Machine {
    std::string system;              // such as `linux`
    std::string machine;             // processor family as the system calls it, such as `x86_64`
    std::string os_version;          // such as `glibc 2.36`; empty for another C library
    std::set<std::string> features;  // of every core, as /proc/cpuinfo or `sysctl hw.optional` spells them
};

// Throws UNKNOWN_PROCESSOR_ERROR.
Machine this_machine();

// Refuses a bundle for another system, processor family or a newer system: throws PLATFORM_ERROR.
void check_target(const Target &target, const Machine &machine);

// Returns true if the processor has the features of a level.
bool runs(const CpuLevel &level, const std::set<std::string> &features);

// Returns the best level whose features the processor has. Throws CPU_LEVEL_ERROR, or USAGE_ERROR if there is no
// level called `forced`.
CpuLevel choose_level(const std::vector<CpuLevel> &levels, const std::set<std::string> &features,
                      const std::optional<std::string> &forced);

// Makes sure that this process may map a bundle's memory: TVM ends the process if it may not. Throws
// RESOURCE_ERROR.
void check_memory(int64_t parameters, int threads);

// Returns the features that every core has, as /proc/cpuinfo lists them.
std::set<std::string> parse_cpuinfo(const std::string &text);

// Compares two versions such as `glibc 2.36`; another name is never enough.
bool at_least(const std::string &found, const std::string &required);

}  // namespace kokoro
