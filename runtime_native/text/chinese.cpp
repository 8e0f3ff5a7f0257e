#include "chinese.h"

#include "../generated/tables.h"
#include "chinese_forms.h"

namespace kokoro::text::chinese {

namespace tables = kokoro::tables::chinese;

const Writing &writing() {
    static const Writing own = {Table(tables::PLAIN), Table(tables::MARKS), Pattern(tables::PIECE), forms(), U"第", {}};
    return own;
}

}  // namespace kokoro::text::chinese
