#include "written_forms.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>

#include "../../base/utf8.h"
#include "../../base/strings.h"
#include "../../generated/tables.h"
#include "forms.h"

namespace kokoro::text {

namespace {

constexpr View SENTENCE_MARKS = U".,:;!?";
constexpr size_t SHORT = 16;  // a gap in which looking for letters takes less time than for a pattern

struct Form {
    const char *letters, *others;  // of which a text with the form has one each at least; none: it may lack all
    const unsigned char *pattern;
    Spoken (*speak)(const Match &found, bool british);
};

// All forms, the first that fits before the others.
constexpr Form FORMS[] = {
#include "../../generated/forms.inc"
};

// A form's pattern, read when a text first needs it.
struct Compiled {
    const Pattern &pattern() {
        std::call_once(once, [&] { made = std::make_unique<Pattern>(form->pattern); });
        return *made;
    }

    const Form *form = nullptr;
    Text letters, others;
    std::once_flag once;
    std::unique_ptr<Pattern> made;
};

std::vector<Compiled> &compiled_forms() {
    static std::vector<Compiled> all = [] {
        std::vector<Compiled> forms(std::size(FORMS));
        for (size_t index = 0; index < forms.size(); index++) {
            forms[index].form = &FORMS[index];
            forms[index].letters = decode_utf8(FORMS[index].letters);
            forms[index].others = decode_utf8(FORMS[index].others);
        }
        return forms;
    }();
    return all;
}

// Returns whether letters, 0 for any digit, may be those of a text with a form.
bool may_be_in(View letters, const Compiled &form) {
    auto has = [&](const Text &set) { return set.empty() || letters.find_first_of(set) != View::npos; };
    return has(form.letters) && has(form.others);
}

// Returns whether the full stop of an abbreviation that ends at `end` ends the sentence too.
bool ends_sentence(View text, size_t end) {
    static const Pattern next(tables::written_forms::NEXT);
    static const Words first_words(tables::abbreviations::FIRST_WORDS);
    Match found;
    if (!next.match(text, end, text.size(), found)) return false;
    return !found.has("word") || first_words.has(found["word"]);
}

// Returns the form of a match with what is said for it, without white space and the full stop of its
// sentence.
WrittenForm form_of(const Match &found, bool is_address, Text spoken) {
    static const Words before_names(tables::abbreviations::BEFORE_NAMES);
    View written = is_address ? strip_end(found[0], SENTENCE_MARKS) : strip_end(found[0]);
    if (ends_with(written, U".") && !before_names.has(written.substr(0, written.size() - 1)) &&
        ends_sentence(found.text(), found.start() + written.size())) {
        written.remove_suffix(1);
    }
    size_t first = found.start() + written.size() - strip_start(written).size();
    return {first, found.start() + written.size(), std::move(spoken)};
}

}  // namespace

std::vector<WrittenForm> find_written_forms(View text, bool british) {
    using Gap = std::pair<size_t, size_t>;
    Text kinds(text);
    for (char32_t &letter : kinds) letter = is_decimal(letter) ? U'0' : letter;
    std::set<char32_t> letters(kinds.begin(), kinds.end());
    const Text present(letters.begin(), letters.end());
    std::vector<WrittenForm> forms;
    std::vector<Gap> gaps = {{0, text.size()}};
    for (Compiled &each : compiled_forms()) {
        if (!may_be_in(present, each)) continue;
        std::vector<Gap> rest;
        auto keep = [&](size_t start, size_t end) {
            // Of one letter alone, white space is no form.
            if (end > start + 1 || (end > start && !is_space(text[start]))) rest.emplace_back(start, end);
        };
        for (auto [position, end] : gaps) {
            // A state follows the comma that may be the end of a form.
            size_t first = position && text[position - 1] == ',' ? position - 1 : position;
            if (end - first < SHORT && !may_be_in(View(kinds).substr(first, end - first), each)) {
                keep(position, end);
                continue;
            }
            each.pattern().for_each(text, position, end, [&, &position = position](const Match &found) {
                Spoken spoken = each.form->speak(found, british);
                if (!spoken || spoken->empty()) return;
                forms.push_back(form_of(found, each.form->speak == electronic::address, std::move(*spoken)));
                keep(position, forms.back().start);
                position = forms.back().end;
            });
            keep(position, end);
        }
        gaps = std::move(rest);
    }
    std::sort(forms.begin(), forms.end(), [](const WrittenForm &one, const WrittenForm &other) {
        return std::tie(one.start, one.end, one.spoken) < std::tie(other.start, other.end, other.spoken);
    });
    return forms;
}

}  // namespace kokoro::text
