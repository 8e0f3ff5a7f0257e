// Feeds the text front end: the first byte chooses language, mark-up and emoji, the rest is the text. The words of all
// parts are text, and are the same when it is read again.
#include <fstream>
#include <iterator>

#include "base/errors.h"
#include "format/parse.h"
#include "fuzzing.h"
#include "text/bundled.h"

namespace {

constexpr const char *LANGUAGES[] = {"en-us", "en-gb", "es", "it"};
constexpr size_t MOST_TEXT = 2000;  // bytes

std::string read(const std::string &path) {
    std::ifstream file(bundle_directory() + "/" + path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
}

kokoro::BundledText &bundle() {
    static const kokoro::Manifest &manifest = *new kokoro::Manifest(kokoro::parse_manifest(read("manifest.msgpack")));
    static kokoro::BundledText &text = *[] {
        std::set<std::string> listed;
        for (const kokoro::FileEntry &entry : manifest.files) listed.insert(entry.path);
        return new kokoro::BundledText(manifest.extensions, listed, read);
    }();
    return text;
}

bool is_text(std::u32string_view text) { return kokoro::decode_utf8(kokoro::encode_utf8(text)) == text; }

// Returns what a text becomes: voices, pauses and words, or the code of a refusal.
std::string outcome(const kokoro::TextInput &input) {
    std::string found;
    try {
        kokoro::Request request;
        request.voice = "af_heart";
        auto style = [](const std::string &, size_t) { return kokoro::Style(); };
        kokoro::NextRequest next = bundle().parts(input, request, {style, {}, 510});
        while (std::optional<kokoro::Request> part = next()) {
            const kokoro::Segment &segment = part->segments.at(0);
            found += segment.voice.value_or("-") + " " + std::to_string(segment.pause) + "\n";
            REQUIRE(segment.pause >= 0 && segment.pause <= 60 && !segment.words.empty());
            for (const kokoro::Word &word : segment.words) {
                REQUIRE(is_text(word.text) && is_text(word.whitespace));
                REQUIRE(!word.phonemes || is_text(*word.phonemes));
                found += kokoro::encode_utf8(word.text) + "\t";
                found += (word.phonemes ? kokoro::encode_utf8(*word.phonemes) : "?") + "\n";
            }
        }
    } catch (const kokoro::Error &refusal) {
        require_refusal(refusal.code, refusal.what());
        REQUIRE(refusal.code / 100 <= 3);
        found += std::to_string(refusal.code);
    }
    return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size || size > MOST_TEXT) return -1;
    kokoro::TextInput input;
    const std::string bytes(reinterpret_cast<const char *>(data + 1), size - 1);
    if (kokoro::find_invalid_utf8(bytes) != bytes.npos) return -1;
    input.text = kokoro::decode_utf8(bytes);
    input.language = data[0] & 16 ? "zh" : LANGUAGES[data[0] % 4];
    input.ssml = data[0] & 4;
    input.skip_emoji = data[0] & 8;
    REQUIRE(outcome(input) == outcome(input));
    return 0;
}
