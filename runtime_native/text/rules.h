// Text to phonemes by the rules of a language, which are data of a bundle (bundles/FORMAT.md).
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "clauses.h"
#include "rewriting.h"
#include "written_words.h"

namespace kokoro::text {

// A language whose spelling, together with a list of other words, decides its sounds. Not for several threads
// at once.
class Rules {
public:
    // Takes the file's content. Throws TEXT_DATA_ERROR if it is no such file.
    explicit Rules(const std::string &data);
    // Returns the words and marks of a text with their phonemes.
    std::vector<Word> words(View text);

private:
    // Rules for words of some stress, which may depend on each other's results.
    struct Step {
        Step(const Node &node, const Sets &sets);
        void apply(Text &text, size_t level) const;

        int64_t levels;  // the stresses of words that it is for, a bit each
        std::optional<LetterSet> unless;
        bool once;
        std::vector<Pass> passes;
        std::vector<Stress> stress;
    };
    struct Ending {
        Text ending;
        size_t least;
        Text phonemes;
    };

    void read(const Node &node);
    void read_respelled(const Node &node);
    std::vector<Word> clause_words(Clause clause);
    std::vector<Text> join_forms(Clause &clause);
    size_t level_of(const Text &word) const;
    const Text &spoken_word(const Text &word, size_t level);
    Text spoken(const Text &word, size_t level) const;
    Text sounded(const Text &word, size_t level) const;
    Text respelled(const Text &word) const;

    std::vector<Step> respelling_, sounds_, clause_;
    std::vector<Ending> endings_;
    Texts words_, stressed_words_;
    std::unordered_set<Text> weak_, unstressed_;
    std::unordered_map<Text, Text> respelled_;
    std::optional<WrittenWords> written_;
    std::unordered_map<Text, Text> spoken_[3];
};

}  // namespace kokoro::text
