#include "units.h"

#include <algorithm>

#include "../../base/strings.h"
#include "../../generated/tables.h"

namespace kokoro::text {

Text unit_name(View written) {
    static const Table units(tables::tables::UNITS);
    return Text(units.get(written));
}

Text several(View unit) {
    static const Table plurals(tables::tables::SEVERAL);
    size_t per = std::min({unit.find(U" of "), unit.find(U" per "), unit.size()});
    View head = unit.substr(0, per);
    if (starts_with(head, U"degree")) return U"degrees" + Text(head.substr(6));
    size_t start = head.rfind(U' ') + 1;
    View last = head.substr(start);
    Text plural = ends_with(last, U"hertz") ? Text(last) : Text(last) + U"s";
    return Text(head.substr(0, start)) + Text(plurals.get(last, plural)) + Text(unit.substr(per));
}

}  // namespace kokoro::text
