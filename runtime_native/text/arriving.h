// Text that arrives bit by bit: a sentence is handed on as soon as it is certain where it ends.
// runtime_min/text/arriving.py has the reasons.
#pragma once

#include <functional>
#include <optional>

#include "../base/unicode.h"

namespace kokoro::text {

// As much of a text as is read at once: a sentence, or the first clause.
struct Run {
    Text text;
    Text following = {};    // the word after it, if that is known
    bool is_last = false;   // the text ends with it
    bool is_apart = false;  // what follows is spoken like an utterance of its own
};

// The text of one speech. `take` gets each run as soon as it is certain.
class ArrivingText {
public:
    using Take = std::function<void(Run)>;

    // Takes the next part of the text, cut anywhere.
    void push(View text, const Take &take);
    // Hands on what is there, although more may follow.
    void flush(const Take &take);
    // Hands on the rest of the text.
    void end(const Take &take);

private:
    std::optional<Run> next();
    std::optional<Run> ended(View text);
    Run taken(size_t end, View following = {});

    Text text_;          // what was not handed on
    size_t looked_ = 0;  // up to where an end was looked for in it
    bool begun_ = false, cased_ = false;
    size_t column_ = 0;
};

// Returns where to cut a text without the end of a sentence: between words, outside of controls.
size_t cut(View text);

}  // namespace kokoro::text
