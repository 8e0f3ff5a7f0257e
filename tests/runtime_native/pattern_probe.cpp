// Answers what patterns match.
//
// A question: the program of a pattern, as exporter/native/pattern_programs.py compiles it, and a text in UTF-8,
// both in hexadecimal digits. An answer: the start and the end of each group, 0 for the whole match, of every
// match from left to right, and those of the match of the whole text after "|"; "-" for a group without a part.
#include <iostream>
#include <sstream>

#include "base/pattern.h"
#include "base/utf8.h"

using namespace kokoro;

namespace {

std::string from_hexadecimal(const std::string &digits) {
    std::string bytes;
    for (size_t place = 0; digits != "-" && place < digits.size(); place += 2) {
        bytes += static_cast<char>(std::stoi(digits.substr(place, 2), nullptr, 16));
    }
    return bytes;
}

void show(const Match &found, int groups) {
    for (int group = 0; group <= groups; group++) {
        if (found.has(group)) {
            std::cout << ' ' << found.start(group) << ' ' << found.end(group);
        } else {
            std::cout << " -";
        }
    }
}

}  // namespace

int main() {
    std::string program, text;
    while (std::cin >> program >> text) {
        std::string bytes = from_hexadecimal(program);
        Pattern pattern(reinterpret_cast<const unsigned char *>(bytes.data()));
        Text read = decode_utf8(from_hexadecimal(text));
        pattern.for_each(read, 0, read.size(), [&](const Match &each) { show(each, pattern.groups()); });
        std::cout << " |";
        Match whole;
        if (pattern.full_match(read, whole)) show(whole, pattern.groups());
        std::cout << '\n';
    }
}
