#include "japanese.h"

#include "../base/utf8.h"
#include "../generated/tables.h"
#include "japanese_forms.h"

namespace kokoro::text::japanese {

namespace tables = kokoro::tables::japanese;

const Writing &writing() {
    static const Writing own = {Table(tables::PLAIN), Table(tables::MARKS), Pattern(tables::PIECE), forms(), {},
                                decode_utf8(tables::STAND_INS)};
    return own;
}

}  // namespace kokoro::text::japanese
