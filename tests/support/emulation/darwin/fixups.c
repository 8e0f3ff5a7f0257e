// Addresses that a file of macOS cannot have are written where it asks for them: two small languages of one-byte
// instructions, for addresses of its own and for those of other libraries.
#include <string.h>

#include "loader.h"

typedef struct {
    Image *image;
    const uint8_t *at, *end;
    char *place;
    int64_t library, addend;
    const char *symbol;
    bool may_lack, is_weak, is_lazy;
} Reader;

static uint64_t unsigned_number(Reader *reader) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        uint8_t byte = *reader->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return value;
    }
}

static int64_t signed_number(Reader *reader) {
    uint64_t value = 0;
    int shift = 0;
    uint8_t byte;
    do {
        byte = *reader->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    return byte & 0x40 && shift < 64 ? (int64_t)(value | ~UINT64_C(0) << shift) : (int64_t)value;
}

static void set_place(Reader *reader, int segment) {
    if (segment >= reader->image->segment_count) refuse("%s: a fixup in no segment", reader->image->path);
    reader->place = (char *)(reader->image->segments[segment]->address + reader->image->slide);
    reader->place += unsigned_number(reader);
}

// Checks that a segment which the file lets be written has the place.
static uint64_t *pointer(Reader *reader) {
    uint64_t address = (uint64_t)(reader->place - reader->image->slide);
    for (int i = 0; i < reader->image->segment_count; i++) {
        const Segment *segment = reader->image->segments[i];
        if (segment->protection & 2 && address >= segment->address && address + 8 <= segment->address + segment->size) {
            return (uint64_t *)reader->place;
        }
    }
    refuse("%s: a fixup outside of what can be written", reader->image->path);
}

static void rebase(Reader *reader, uint64_t count, uint64_t skipped) {
    for (; count; count--, reader->place += 8 + skipped) *pointer(reader) += reader->image->slide;
}

static void run_rebases(Reader *reader) {
    while (reader->at < reader->end) {
        int operand = *reader->at & 15, operation = *reader->at++ & 0xf0;
        uint64_t count;
        switch (operation) {
        case DARWIN_REBASE_OPCODE_DONE: return;
        case DARWIN_REBASE_OPCODE_SET_TYPE_IMM: break;
        case DARWIN_REBASE_OPCODE_SET_SEGMENT_AND_OFFSET_ULEB: set_place(reader, operand); break;
        case DARWIN_REBASE_OPCODE_ADD_ADDR_ULEB: reader->place += unsigned_number(reader); break;
        case DARWIN_REBASE_OPCODE_ADD_ADDR_IMM_SCALED: reader->place += operand * 8; break;
        case DARWIN_REBASE_OPCODE_DO_REBASE_IMM_TIMES: rebase(reader, operand, 0); break;
        case DARWIN_REBASE_OPCODE_DO_REBASE_ULEB_TIMES: rebase(reader, unsigned_number(reader), 0); break;
        case DARWIN_REBASE_OPCODE_DO_REBASE_ADD_ADDR_ULEB: rebase(reader, 1, unsigned_number(reader)); break;
        case DARWIN_REBASE_OPCODE_DO_REBASE_ULEB_TIMES_SKIPPING_ULEB:
            count = unsigned_number(reader);
            rebase(reader, count, unsigned_number(reader));
            break;
        default: refuse("%s: rebase %#x", reader->image->path, operation);
        }
    }
}

static void bind(Reader *reader, uint64_t count, uint64_t skipped) {
    void *found = reader->is_weak ? find_weak(reader->symbol)
                                  : find_symbol(reader->image, reader->library, reader->symbol, reader->may_lack);
    for (; count; count--, reader->place += 8 + skipped) {
        // A weak symbol that no library exports is the file's own, whose address is there.
        if (!found && reader->is_weak) continue;
        *pointer(reader) = (uint64_t)found + reader->addend;
    }
}

static void name_symbol(Reader *reader, int flags) {
    reader->may_lack = flags & DARWIN_BIND_SYMBOL_FLAGS_WEAK_IMPORT;
    reader->symbol = (const char *)reader->at;
    reader->at += strlen(reader->symbol) + 1;
}

static void run_binds(Reader *reader) {
    while (reader->at < reader->end) {
        int operand = *reader->at & 15, operation = *reader->at++ & 0xf0;
        uint64_t count;
        switch (operation) {
        case DARWIN_BIND_OPCODE_DONE:
            if (reader->is_lazy) break;  // each symbol ends with it
            return;
        case DARWIN_BIND_OPCODE_SET_DYLIB_ORDINAL_IMM: reader->library = operand; break;
        case DARWIN_BIND_OPCODE_SET_DYLIB_ORDINAL_ULEB: reader->library = unsigned_number(reader); break;
        case DARWIN_BIND_OPCODE_SET_DYLIB_SPECIAL_IMM: reader->library = operand ? operand - 16 : 0; break;
        case DARWIN_BIND_OPCODE_SET_SYMBOL_TRAILING_FLAGS_IMM: name_symbol(reader, operand); break;
        case DARWIN_BIND_OPCODE_SET_TYPE_IMM: break;
        case DARWIN_BIND_OPCODE_SET_ADDEND_SLEB: reader->addend = signed_number(reader); break;
        case DARWIN_BIND_OPCODE_SET_SEGMENT_AND_OFFSET_ULEB: set_place(reader, operand); break;
        case DARWIN_BIND_OPCODE_ADD_ADDR_ULEB: reader->place += unsigned_number(reader); break;
        case DARWIN_BIND_OPCODE_DO_BIND: bind(reader, 1, 0); break;
        case DARWIN_BIND_OPCODE_DO_BIND_ADD_ADDR_ULEB: bind(reader, 1, unsigned_number(reader)); break;
        case DARWIN_BIND_OPCODE_DO_BIND_ADD_ADDR_IMM_SCALED: bind(reader, 1, operand * 8); break;
        case DARWIN_BIND_OPCODE_DO_BIND_ULEB_TIMES_SKIPPING_ULEB:
            count = unsigned_number(reader);
            bind(reader, count, unsigned_number(reader));
            break;
        default: refuse("%s: bind %#x", reader->image->path, operation);
        }
    }
}

static Reader reader_of(Image *image, uint32_t start, uint32_t size) {
    const uint8_t *at = size ? (const uint8_t *)content_at(image, start) : NULL;
    return (Reader){.image = image, .at = at, .end = at + size};
}

// Functions that are called late elsewhere are looked up here at once, as dyld does with fixups that it prepares.
void apply_fixups(Image *image) {
    const FixupPlaces *places = image->fixups;
    Reader own = reader_of(image, places->rebase, places->rebase_size);
    run_rebases(&own);
    Reader others = reader_of(image, places->bind, places->bind_size);
    run_binds(&others);
    Reader lazy = reader_of(image, places->lazy_bind, places->lazy_bind_size);
    lazy.is_lazy = true;
    run_binds(&lazy);
    Reader weak = reader_of(image, places->weak_bind, places->weak_bind_size);
    weak.is_weak = true;
    run_binds(&weak);
}
