// Text to phonemes with the data of a bundle, which bundles/FORMAT.md specifies.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "../format/msgpack.h"
#include "../speech/request.h"
#include "arriving.h"
#include "english.h"
#include "segmented.h"

namespace kokoro {

// An input that is text, and how it is to be read.
struct TextInput {
    std::u32string text;
    bool ssml = false;
    bool skip_emoji = false;  // leave emoji out, of which English says the names
    std::string language;     // empty: that of the voice
};

// The G2Ps of a bundle, each made when it is first needed. Not for several threads at once.
class BundledText {
public:
    // Returns the content of a file of the bundle.
    using ReadFile = std::function<std::string(const std::string &path)>;

    // Takes the manifest's extensions and the paths of all files that it lists.
    BundledText(const Value &extensions, std::set<std::string> listed, ReadFile read)
        : extensions_(extensions), listed_(std::move(listed)), read_(std::move(read)) {}

    // Returns the parts of a request for a text. A long text comes in parts, so that its beginning can be
    // spoken before its end is read. An error in a later segment is thrown before the first part. The parts
    // must not outlive this object. Throws VOICE_LANGUAGE_ERROR, NO_TEXT_ERROR, LANGUAGE_ERROR, errors of the
    // input and of the bundle.
    NextRequest parts(const TextInput &input, const Request &request, const Capabilities &capabilities);

    // Makes words of a text.
    using G2p = std::function<std::vector<Word>(View)>;

    // Returns the G2P for a voice's text, which must not outlive this object. Of the input, the text is not read;
    // `own` is the language of a segment that has one.
    // Throws VOICE_LANGUAGE_ERROR, NO_TEXT_ERROR, LANGUAGE_ERROR and errors of the bundle.
    G2p g2p_of(const TextInput &input, const std::string &voice, const std::optional<std::string> &own = {});

private:
    G2p find_g2p(const std::string &language);
    template <typename Dictionary>
    G2p segmented(std::shared_ptr<Dictionary> dictionary, const text::Writing &writing);
    G2p find_english();
    std::vector<Word> in_marked_languages(const G2p &g2p, View text, bool skip_emoji);
    std::vector<Word> in_own_languages(std::vector<Word> words, View text);
    bool has_data(const std::string &language) const;
    G2p english(const std::string &language);
    std::string path(const char *extension, const std::string &language, const char *key) const;
    template <typename Data>
    std::shared_ptr<Data> shared(std::map<std::string, std::shared_ptr<Data>> &known,
                                 const std::string &path);

    const Value &extensions_;
    std::set<std::string> listed_;
    ReadFile read_;
    std::map<std::string, G2p> g2ps_;
    std::map<std::string, std::shared_ptr<text::Tagger>> taggers_;
    std::map<std::string, std::shared_ptr<text::Homographs>> homographs_;
    std::map<std::string, std::shared_ptr<text::LetterToSound>> spellings_;
};

// Returns the parts of a run, each with the beginning of the word after it. Throws MARKUP_ERROR.
NextRequest linked_parts(const text::Run &run, const BundledText::G2p &g2p, const Request &request);

}  // namespace kokoro
