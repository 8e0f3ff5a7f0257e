// Answers what the words of texts are, for a bundle's directory and the paths of its files for text.
//
// Arguments: the directory, then four files for American and four for British English, the Chinese and the
// Japanese dictionary or "none", and for each other language its name and the file of its rules. A question: the voice, 1 for SSML, 1 to skip
// emoji, the language or "-", and the text in
// hexadecimal UTF-8. An answer: "error" and its code; or for each part its voice, speed, pause and 1 if it
// ends a segment, and its words: the text, the phonemes ("-" if there are none) and the white space, each
// after a comma, in hexadecimal UTF-8.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

#include "base/errors.h"
#include "base/utf8.h"
#include "text/bundled.h"

using namespace kokoro;

namespace {

std::string from_hexadecimal(const std::string &digits) {
    auto value = [](char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; };
    std::string bytes;
    for (size_t place = 0; digits != "-" && place < digits.size(); place += 2) {
        bytes += static_cast<char>(value(digits[place]) << 4 | value(digits[place + 1]));
    }
    return bytes;
}

std::string hexadecimal(std::u32string_view text) {
    std::string digits;
    for (unsigned char byte : encode_utf8(text)) {
        digits += "0123456789abcdef"[byte >> 4];
        digits += "0123456789abcdef"[byte & 15];
    }
    return digits;
}

Value files_for_text(char **paths, char **end) {
    Map dialects;
    for (const char *language : {"en-us", "en-gb"}) {
        Map files;
        for (const char *key : {"lexicon", "tagger", "homographs", "letter_to_sound"}) {
            files.push_back({key, {std::string(*paths++)}});
        }
        dialects.push_back({language, {files}});
    }
    Map segmented, rules;
    for (const char *language : {"zh", "ja"}) {
        std::string path = *paths++;
        if (path != "none") segmented.push_back({language, {path}});
    }
    for (; paths + 1 < end; paths += 2) rules.push_back({paths[0], {std::string(paths[1])}});
    return {Map{{"text", {dialects}}, {"segmented", {segmented}}, {"rules", {rules}}}};
}

void answer(BundledText &bundle, const std::string &question) {
    std::istringstream fields(question);
    Request request;
    TextInput input;
    std::string language, text;
    fields >> request.voice >> input.ssml >> input.skip_emoji >> language >> text;
    input.text = decode_utf8(from_hexadecimal(text));
    if (language != "-") input.language = language;
    auto style = [](const std::string &, size_t) { return Style(); };
    NextRequest next = bundle.parts(input, request, {style, {}, 510});
    while (std::optional<Request> part = next()) {
        const Segment &segment = part->segments[0];
        std::printf("%s %.17g %.17g %d", segment.voice.value_or("-").c_str(), segment.speed.value_or(1),
                    segment.pause, part->ends_segment);
        for (const Word &word : segment.words) {
            std::printf(" %s,%s,%s", hexadecimal(word.text).c_str(),
                        word.phonemes ? hexadecimal(*word.phonemes).c_str() : "-",
                        hexadecimal(word.whitespace).c_str());
        }
        std::printf(";");
    }
}

}  // namespace

int main(int count, char **arguments) {
    std::string directory = std::string(arguments[1]) + "/", question;
    Value extensions = files_for_text(arguments + 2, arguments + count);
    BundledText bundle(extensions, {arguments + 2, arguments + count}, [&](const std::string &path) {
        std::ifstream file(directory + path, std::ios::binary | std::ios::ate);
        // All at once: an iterator takes half of the time of a dictionary.
        std::string content(static_cast<size_t>(file.tellg()), '\0');
        file.seekg(0).read(content.data(), static_cast<std::streamsize>(content.size()));
        return content;
    });
    while (std::getline(std::cin, question)) {
        try {
            answer(bundle, question);
        } catch (const Error &error) {
            std::printf("error %d", error.code);
        }
        std::printf("\n");
    }
}
