// Speech of a text that arrives bit by bit, such as the tokens of a language model. runtime_min/live.py has the rules.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "model/synthesiser.h"
#include "speech/lead.h"
#include "speech/speak.h"
#include "text/arriving.h"
#include "text/bundled.h"

namespace kokoro {

// A speech whose text is pushed by any thread, and whose pieces one thread takes.
class LiveSpeech {
public:
    using Prepare = std::function<Prepared(const Utterance &, const CancelCheck &)>;

    // Takes a request without text, what makes words of a text, plans them and computes their speech. Throws errors
    // of usage.
    LiveSpeech(Request request, BundledText::G2p g2p, Planner planner, Prepare prepare);
    LiveSpeech(const LiveSpeech &) = delete;
    LiveSpeech &operator=(const LiveSpeech &) = delete;

    // Takes the next part of the text, cut anywhere, also within a character. Throws TEXT_ENCODING_ERROR, and
    // USAGE_ERROR if the text has ended.
    void push(const std::string &text);
    // Has all that is there spoken, although its sentence may go on. Throws what `push` throws.
    void flush();
    // Ends the text; what is there is the end of the speech. Throws what `push` throws.
    void end();

    // Returns the next piece of what is certain to be complete, or none. With `wait` it waits for text, and none is the
    // end of the speech. Throws what the text and the synthesis throw, and what `check` throws.
    std::optional<Audio> next(const CancelCheck &check, bool wait);

    // Ends the speech for good, before the bundle that computes it is gone.
    void abandon();

    Player player;  // hears the pieces

private:
    void check_open() const;
    void check_whole() const;
    text::ArrivingText::Take queue();
    bool begin_section();
    bool begin_part();
    bool begin_run(bool wait);
    std::optional<Audio> finish();

    const Request request_;
    const BundledText::G2p g2p_;
    Planner planner_;
    const Prepare prepare_;

    std::mutex mutex_;  // of all up to the next empty line
    std::condition_variable arrived_;
    std::string partial_;  // bytes of a character that is not whole
    text::ArrivingText text_;
    std::deque<text::Run> runs_;
    bool ended_ = false, abandoned_ = false;

    CancelCheck check_;
    NextRequest parts_;               // of the run that is read
    std::u32string run_;              // its text
    std::vector<Section> upcoming_;   // of the part that is read, in reverse
    std::vector<Section> silent_;     // what follows the last section that was spoken, without phonemes
    size_t silent_length_ = 0;        // characters of it, and of what comes before anything is spoken
    std::optional<Narrator> narrator_;
    bool over_ = false;  // all was spoken
};

}  // namespace kokoro
