// XML documents without a document type: elements, attributes and text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "unicode.h"

namespace kokoro {

struct Attribute {
    Text name;  // without its namespace
    Text value;
    Text space;  // the namespace, empty without a prefix
};

struct Element {
    Text name;  // without its namespace
    std::vector<Attribute> attributes;
    Text text;  // before the first child
    std::vector<Element> children;
    Text tail;  // after the element

    // Returns the value of an attribute without a namespace, null if it is not there.
    const Text *find(View name) const;
};

// Returns the root element. Comments and processing instructions are left out. Throws MARKUP_ERROR if the
// document is not well-formed, has a document type, or is nested deeper than `deepest` elements within the
// root.
Element parse_xml(View document, size_t deepest);

}  // namespace kokoro
