#include "live.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "base/errors.h"
#include "base/utf8.h"

namespace kokoro {

namespace {

// Characters without anything to speak that are kept until speech follows.
constexpr size_t LONGEST_SILENT = 100'000;
// Time after which a thread that waits for text looks whether anybody wants the speech.
constexpr auto LOOK = std::chrono::milliseconds(50);

using Lock = std::unique_lock<std::mutex>;

[[noreturn]] void refuse_abandoned() {
    throw Error(KOKORO_USAGE_ERROR, "The speech failed or was stopped: open another one.");
}

}  // namespace

LiveSpeech::LiveSpeech(Request request, BundledText::G2p g2p, Planner planner, Prepare prepare)
    : request_(std::move(request)), g2p_(std::move(g2p)), planner_(std::move(planner)), prepare_(std::move(prepare)) {}

void LiveSpeech::push(const std::string &text) {
    Lock lock(mutex_);
    check_open();
    std::string bytes = partial_ + text;
    const size_t whole = whole_utf8(bytes);
    text_.push(decode_utf8(std::string_view(bytes).substr(0, whole), "text"), queue());
    partial_ = bytes.substr(whole);
    arrived_.notify_all();
}

void LiveSpeech::flush() {
    Lock lock(mutex_);
    check_open();
    check_whole();
    text_.flush(queue());
    arrived_.notify_all();
}

void LiveSpeech::end() {
    Lock lock(mutex_);
    check_open();
    check_whole();
    text_.end(queue());
    ended_ = true;
    arrived_.notify_all();
}

void LiveSpeech::check_open() const {
    if (abandoned_) refuse_abandoned();
    if (ended_) throw Error(KOKORO_USAGE_ERROR, "The text has ended: open another speech.");
}

void LiveSpeech::check_whole() const {
    if (partial_.empty()) return;
    throw Error(KOKORO_TEXT_ENCODING_ERROR, "The text ends within a character of UTF-8, with " +
                                                std::to_string(partial_.size()) + " of its bytes: push the others.");
}

text::ArrivingText::Take LiveSpeech::queue() {
    return [this](text::Run run) { runs_.push_back(std::move(run)); };
}

std::optional<Audio> LiveSpeech::next(const CancelCheck &check, bool wait) {
    {
        Lock lock(mutex_);
        if (abandoned_) refuse_abandoned();
    }
    check_ = check;
    while (true) {
        if (narrator_) {
            if (auto piece = narrator_->next()) return piece;
        }
        if (!begin_section() && !begin_part() && !begin_run(wait)) return finish();
    }
}

void LiveSpeech::abandon() {
    Lock lock(mutex_);
    abandoned_ = true;
    over_ = true;
    runs_.clear();
    upcoming_.clear();
    parts_ = nullptr;
    narrator_.reset();
}

// Begins the next section that has phonemes, if the part that is read has one.
bool LiveSpeech::begin_section() {
    while (!upcoming_.empty()) {
        silent_.push_back(std::move(upcoming_.back()));
        upcoming_.pop_back();
        if (silent_.back().passage.phonemes.empty()) continue;
        Section found = as_one(std::exchange(silent_, {}));
        silent_length_ = 0;
        over_ = found.link && found.link->is_last;
        narrator_->begin(std::move(found), over_);
        return true;
    }
    return false;
}

// Reads the next part of the run.
bool LiveSpeech::begin_part() {
    if (!parts_) return false;
    check_();
    std::optional<Request> part = parts_();
    if (!part) {
        parts_ = nullptr;
        if (silent_length_ > LONGEST_SILENT) refuse_empty(strip(run_));
        return false;
    }
    if (auto plan = planner_.plan(std::move(*part))) {
        if (!narrator_) narrator_.emplace(*plan, [this](const Utterance &each) { return prepare_(each, check_); });
        std::move(plan->sections.rbegin(), plan->sections.rend(), std::back_inserter(upcoming_));
    }
    return true;
}

// Takes the next run, if one is certain.
bool LiveSpeech::begin_run(bool wait) {
    Lock lock(mutex_);
    while (runs_.empty()) {
        if (ended_ || !wait) return false;
        check_();
        arrived_.wait_for(lock, LOOK);
    }
    text::Run run = std::move(runs_.front());
    runs_.pop_front();
    lock.unlock();
    run_ = run.text;
    silent_length_ += run.text.size();
    parts_ = linked_parts(run, g2p_, request_);
    return true;
}

// Returns the end of the speech, or none if it was returned or the text goes on.
std::optional<Audio> LiveSpeech::finish() {
    {
        Lock lock(mutex_);
        if (!ended_ || !runs_.empty() || over_) return {};
    }
    over_ = true;
    planner_.end();
    if (!narrator_) return {};
    return narrator_->end(std::exchange(silent_, {}));
}

}  // namespace kokoro
