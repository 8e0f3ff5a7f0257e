#include "strings.h"

#include "utf8.h"

namespace kokoro {

View strip_start(View text, View letters) {
    size_t start = text.find_first_not_of(letters);
    return start == View::npos ? View() : text.substr(start);
}

View strip_end(View text, View letters) { return text.substr(0, text.find_last_not_of(letters) + 1); }

std::vector<View> split(View text) {
    std::vector<View> parts;
    for (size_t start = 0; start < text.size();) {
        size_t end = start;
        while (end < text.size() && !is_space(text[end])) end++;
        if (end > start) parts.push_back(text.substr(start, end - start));
        start = end + 1;
    }
    return parts;
}

std::vector<View> split(View text, char32_t separator) {
    std::vector<View> parts;
    for (size_t start = 0;;) {
        size_t end = text.find(separator, start);
        parts.push_back(text.substr(start, end - start));
        if (end == View::npos) return parts;
        start = end + 1;
    }
}

Text join(const std::vector<Text> &parts, View between) {
    Text joined;
    for (size_t index = 0; index < parts.size(); index++) {
        if (index) joined += between;
        joined += parts[index];
    }
    return joined;
}

Text replaced(View text, View part, View by) {
    Text result;
    for (size_t start = 0;;) {
        size_t found = text.find(part, start);
        result += text.substr(start, found - start);
        if (found == View::npos) return result;
        result += by;
        start = found + part.size();
    }
}

Text without(View text, char32_t letter) { return replaced(text, View(&letter, 1), {}); }

Text spaced(View text) {
    Text result;
    for (char32_t letter : text) {
        if (!result.empty()) result += U' ';
        result += letter;
    }
    return result;
}

std::vector<Text> list(const char *written) {
    Text text = decode_utf8(written);
    std::vector<View> words = split(text, U' ');
    return {words.begin(), words.end()};
}

Words::Words(const char *written) {
    for (Text &word : list(written)) words_.insert(std::move(word));
}

std::vector<Row> rows(const char *written) {
    std::vector<Row> found;
    Text text = decode_utf8(written);
    std::vector<View> lines = split(text, U'\n');
    lines.pop_back();  // what follows the last line feed
    for (View line : lines) {
        found.emplace_back();
        for (View part : split(line, U'\t')) found.back().emplace_back(part);
    }
    return found;
}

Table::Table(const char *written) {
    for (Row &row : rows(written)) rows_.emplace(row[0], Row(row.begin() + 1, row.end()));
}

const Row *Table::row(View key) const {
    auto found = rows_.find(key);
    return found == rows_.end() ? nullptr : &found->second;
}

const Text *Table::find(View key) const {
    const Row *found = row(key);
    return found ? &found->front() : nullptr;
}

View Table::get(View key, View otherwise) const {
    const Text *found = find(key);
    return found ? View(*found) : otherwise;
}

Text Table::translate(View text) const {
    Text result;
    for (char32_t letter : text) result += get(View(&letter, 1), View(&letter, 1));
    return result;
}

}  // namespace kokoro
