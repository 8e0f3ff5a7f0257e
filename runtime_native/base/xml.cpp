#include "xml.h"

#include <algorithm>
#include <map>

#include "errors.h"
#include "utf8.h"
#include "strings.h"

namespace kokoro {

namespace {

constexpr View DECLARED = U"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-";
constexpr View XML_SPACE = U"http://www.w3.org/XML/1998/namespace",
               XMLNS_SPACE = U"http://www.w3.org/2000/xmlns/";

bool is_blank(char32_t letter) { return letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r'; }

bool is_allowed(char32_t letter) {
    return letter >= 0x20 ? letter != 0xFFFE && letter != 0xFFFF : is_blank(letter) && letter;
}

bool begins_name(char32_t letter) {
    return letter == '_' || letter == ':' || ((letter | 32) >= 'a' && (letter | 32) <= 'z') ||
           (letter >= 0x80 && is_alpha(letter));
}

bool in_name(char32_t letter) {
    return begins_name(letter) || contains(U"-.0123456789·", letter) ||
           (letter >= 0x80 && (is_decimal(letter) || is_silent(letter)));
}

// Returns a document with line feeds as the ends of lines.
Text with_line_feeds(View document) {
    Text text = replaced(document, U"\r\n", U"\n");
    std::replace(text.begin(), text.end(), U'\r', U'\n');
    return text;
}

class Parser {
public:
    Parser(View document, size_t deepest) : text_(with_line_feeds(document)), deepest_(deepest) {}

    Element document() {
        take(U"\ufeff");
        if (starts_with(rest(), U"<?xml") && rest().size() > 5 && is_blank(rest()[5])) declaration();
        outside();
        if (!take(U"<")) fail("no element found");
        start_tag();
        while (!open_.empty()) content();
        outside();
        if (position_ < text_.size()) fail("junk after document element");
        return std::move(root_);
    }

private:
    using Spaces = std::map<Text, Text, std::less<>>;

    [[noreturn]] void fail(const char *reason) const {
        size_t line = 1 + std::count(text_.begin(), text_.begin() + static_cast<long>(position_), U'\n');
        throw Error(KOKORO_MARKUP_ERROR, std::string("The SSML is not well-formed XML: ") + reason +
                                             ": line " + std::to_string(line) + ".");
    }

    View rest() const { return View(text_).substr(position_); }

    bool take(View expected) {
        if (!starts_with(rest(), expected)) return false;
        position_ += expected.size();
        return true;
    }

    bool take_blanks() {
        size_t start = position_;
        while (position_ < text_.size() && is_blank(text_[position_])) position_++;
        return position_ > start;
    }

    // Returns what lies before a mark, and moves past the mark.
    View until(View mark, const char *reason) {
        size_t end = text_.find(mark, position_);
        if (end == Text::npos) fail(reason);
        View found = View(text_).substr(position_, end - position_);
        if (!std::all_of(found.begin(), found.end(), is_allowed)) fail("not well-formed (invalid token)");
        position_ = end + mark.size();
        return found;
    }

    // Reads the declaration that may stand at the very beginning.
    void declaration() {
        position_ += 5;
        static const std::vector<Text> names = list("version encoding standalone");
        size_t next = 0;
        while (take_blanks() && !starts_with(rest(), U"?>")) {
            Text own = name();
            while (next < names.size() && names[next] != own) next++;
            if (next++ == names.size() || (next > 1 && !declared_)) fail("XML declaration not well-formed");
            Text value = quoted();
            declared_ = true;
            if (value.find_first_not_of(DECLARED) != Text::npos) fail("XML declaration not well-formed");
            if (own == U"standalone" && value != U"yes" && value != U"no")
                fail("XML declaration not well-formed");
            if (own == U"encoding" && (value.empty() || !is_alpha(value[0])))
                fail("XML declaration not well-formed");
        }
        if (!declared_ || !take(U"?>")) fail("XML declaration not well-formed");
    }

    // Reads what may stand before and after the root element.
    void outside() {
        while (take_blanks() || comment_or_instruction()) {
        }
        if (starts_with(rest(), U"<!DOCTYPE")) {
            throw Error(KOKORO_MARKUP_ERROR, "The SSML has a DOCTYPE: expected a document without one.");
        }
    }

    bool comment_or_instruction() {
        if (take(U"<!--")) {
            until(U"--", "unclosed token");
            if (!take(U">")) fail("not well-formed (invalid token)");
            return true;
        }
        if (!take(U"<?")) return false;
        Text target = name();
        if (contains(target, U':') || lower(target) == U"xml")
            fail("XML or text declaration not at start of entity");
        if (!take_blanks() && !starts_with(rest(), U"?>")) fail("not well-formed (invalid token)");
        until(U"?>", "unclosed token");
        return true;
    }

    Text name() {
        size_t start = position_;
        if (position_ == text_.size() || !begins_name(text_[position_]))
            fail("not well-formed (invalid token)");
        while (position_ < text_.size() && in_name(text_[position_])) position_++;
        return text_.substr(start, position_ - start);
    }

    // Reads the value of an attribute, with the references in it as they are.
    Text quoted() {
        take_blanks();
        if (!take(U"=")) fail("not well-formed (invalid token)");
        take_blanks();
        View mark = rest().substr(0, 1);
        if (mark != U"\"" && mark != U"'") fail("not well-formed (invalid token)");
        Text quote(mark);
        position_++;
        return Text(until(quote, "unclosed token"));
    }

    // Returns a text with characters in place of the references to them.
    Text dereferenced(View written, bool attribute) {
        Text result;
        for (size_t place = 0; place < written.size(); place++) {
            char32_t letter = written[place];
            if (letter == '&') {
                size_t end = written.find(U';', place);
                if (end == View::npos) fail("not well-formed (invalid token)");
                result += referenced(written.substr(place + 1, end - place - 1));
                place = end;
            } else if (attribute && letter == '<') {
                fail("not well-formed (invalid token)");
            } else {
                result += attribute && is_blank(letter) ? U' ' : letter;
            }
        }
        return result;
    }

    char32_t referenced(View name) {
        static const Table entities("lt\t<\ngt\t>\namp\t&\nquot\t\"\napos\t'\n");
        if (const Text *found = entities.find(name)) return (*found)[0];
        if (!starts_with(name, U"#")) fail("undefined entity");
        bool hexadecimal = starts_with(name, U"#x");
        View digits = name.substr(hexadecimal ? 2 : 1);
        uint32_t code = 0;
        for (char32_t digit : digits) {
            size_t value = View(U"0123456789abcdef").find(simple_lower(digit));
            if (digit > 0x7F || value == View::npos || (!hexadecimal && value > 9))
                fail("not well-formed (invalid token)");
            code =
                std::min<uint32_t>(code * (hexadecimal ? 16 : 10) + static_cast<uint32_t>(value), 0x110000);
        }
        if (digits.empty() || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000) || !is_allowed(code)) {
            fail("reference to invalid character number");
        }
        return code;
    }

    // Reads an element's tag after its "<".
    void start_tag() {
        Text written = name();
        std::vector<Attribute> attributes;
        Spaces spaces = spaces_.empty() ? Spaces{{U"xml", Text(XML_SPACE)}} : spaces_.back();
        bool blank = take_blanks();
        while (!rest().empty() && !contains(U"/>", rest()[0])) {
            if (!blank) fail("not well-formed (invalid token)");
            Text own = name(), value = dereferenced(quoted(), true);
            attributes.push_back({own, value, {}});
            blank = take_blanks();
        }
        bool empty = take(U"/");
        if (!take(U">")) fail("unclosed token");
        Element element{{}, resolved(attributes, spaces), {}, {}, {}};
        element.name = local_name(written, spaces, nullptr);
        if (open_.size() > deepest_) {
            throw Error(KOKORO_MARKUP_ERROR, "The SSML is nested deeper than " + std::to_string(deepest_) +
                                                 " elements: expected fewer levels.");
        }
        add(std::move(element), written, std::move(spaces), empty);
    }

    void add(Element element, const Text &written, Spaces spaces, bool empty) {
        Element *added = &root_;
        if (open_.empty()) {
            root_ = std::move(element);
        } else {
            open_.back()->children.push_back(std::move(element));
            added = &open_.back()->children.back();
        }
        if (empty) return;
        open_.push_back(added);
        names_.push_back(written);
        spaces_.push_back(std::move(spaces));
    }

    // Returns the attributes that declare no namespace, with those that they are in.
    std::vector<Attribute> resolved(const std::vector<Attribute> &attributes, Spaces &spaces) {
        std::vector<Attribute> found;
        for (size_t index = 0; index < attributes.size(); index++) {
            const auto &[name, value, space] = attributes[index];
            for (size_t other = 0; other < index; other++) {
                if (attributes[other].name == name) fail("duplicate attribute");
            }
            if (name == U"xmlns") {
                if (value == XML_SPACE || value == XMLNS_SPACE)
                    fail("reserved prefix (xml) must not be undeclared");
                continue;
            }
            if (starts_with(name, U"xmlns:")) declare(name.substr(6), value, spaces);
        }
        for (const auto &[name, value, space] : attributes) {
            if (name == U"xmlns" || starts_with(name, U"xmlns:")) continue;
            Attribute attribute{{}, value, {}};
            attribute.name = local_name(name, spaces, &attribute.space);
            for (const Attribute &other : found) {
                if (other.name == attribute.name && other.space == attribute.space)
                    fail("duplicate attribute");
            }
            found.push_back(std::move(attribute));
        }
        return found;
    }

    void declare(const Text &prefix, const Text &space, Spaces &spaces) {
        bool sound = !prefix.empty() && !contains(prefix, U':') && !space.empty() && prefix != U"xmlns" &&
                     space != XMLNS_SPACE && (prefix == U"xml") == (space == XML_SPACE);
        if (!sound) fail("unbound prefix");
        spaces[prefix] = space;
    }

    // Returns a name without its prefix, whose namespace `space` receives.
    Text local_name(const Text &written, const Spaces &spaces, Text *space) {
        size_t colon = written.find(U':');
        if (colon == Text::npos) return written;
        auto found = spaces.find(written.substr(0, colon));
        Text local = written.substr(colon + 1);
        if (found == spaces.end() || local.empty() || contains(local, U':') || !begins_name(local[0])) {
            fail("unbound prefix");
        }
        if (space) *space = found->second;
        return local;
    }

    // Reads text, a child, the end of an element, or what is left out.
    void content() {
        if (position_ == text_.size()) fail("no element found");
        Element &parent = *open_.back();
        Text &text = parent.children.empty() ? parent.text : parent.children.back().tail;
        if (take(U"</")) {
            if (name() != names_.back()) fail("mismatched tag");
            take_blanks();
            if (!take(U">")) fail("not well-formed (invalid token)");
            open_.pop_back(), names_.pop_back(), spaces_.pop_back();
        } else if (take(U"<![CDATA[")) {
            text += until(U"]]>", "unclosed CDATA section");
        } else if (comment_or_instruction()) {
        } else if (take(U"<")) {
            start_tag();
        } else {
            size_t end = std::min(text_.find(U'<', position_), text_.size());
            View written = View(text_).substr(position_, end - position_);
            if (contains(written, U"]]>") || !std::all_of(written.begin(), written.end(), is_allowed)) {
                fail("not well-formed (invalid token)");
            }
            text += dereferenced(written, false);
            position_ = end;
        }
    }

    Text text_;
    size_t position_ = 0, deepest_;
    bool declared_ = false;
    Element root_;
    // Of the elements that are open: where they are, what their tags say, and the namespaces within them.
    std::vector<Element *> open_;
    std::vector<Text> names_;
    std::vector<Spaces> spaces_;
};

}  // namespace

const Text *Element::find(View name) const {
    for (const Attribute &attribute : attributes) {
        if (attribute.name == name && attribute.space.empty()) return &attribute.value;
    }
    return nullptr;
}

Element parse_xml(View document, size_t deepest) { return Parser(document, deepest).document(); }

}  // namespace kokoro
