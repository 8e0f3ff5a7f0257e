// A file of macOS becomes memory: its segments, in the places that they have beside each other.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loader.h"

enum { SMALL_PAGE = 4 << 10 };  // Linux's

static void check_header(const char *path, int file, Header *header) {
    if (pread(file, header, sizeof *header, 0) != sizeof *header || header->magic != (uint32_t)DARWIN_MH_MAGIC_64 ||
        header->processor != DARWIN_CPU_TYPE_ARM64) {
        refuse("dlopen(%s): not a mach-o file of arm64", path);
    }
    if (header->kind != DARWIN_MH_EXECUTE && header->kind != DARWIN_MH_DYLIB) refuse("dlopen(%s): not a library", path);
}

static void read_command(Image *image, const Command *command) {
    const char *start = (const char *)command;
    uint32_t first = ((const uint32_t *)command)[2];
    if (command->kind == (uint32_t)DARWIN_LC_SEGMENT_64) {
        if (image->segment_count == MOST_SEGMENTS) refuse("%s has more segments", image->path);
        image->segments[image->segment_count++] = (const Segment *)command;
    } else if (command->kind == (uint32_t)DARWIN_LC_DYLD_INFO_ONLY) {
        image->fixups = (const FixupPlaces *)command;
    } else if (command->kind == (uint32_t)DARWIN_LC_LOAD_DYLIB) {
        if (image->linked_count == MOST_NEEDED) refuse("%s needs more libraries", image->path);
        image->linked_names[image->linked_count++] = start + first;
    } else if (command->kind == (uint32_t)DARWIN_LC_MAIN) {
        image->entry = first;
    } else if (command->kind == (uint32_t)DARWIN_LC_DYLD_CHAINED_FIXUPS ||
               command->kind == (uint32_t)DARWIN_LC_LOAD_WEAK_DYLIB ||
               command->kind == (uint32_t)DARWIN_LC_REEXPORT_DYLIB) {
        refuse("%s has the command %#x, which this loader does not know", image->path, command->kind);
    }
}

static void read_commands(Image *image, const Header *header, const char *commands) {
    const char *at = commands;
    for (uint32_t i = 0; i < header->commands; at += ((const Command *)at)->size, i++) {
        read_command(image, (const Command *)at);
    }
    if (!image->fixups || !image->segment_count) refuse("%s has no fixups", image->path);
}

// A program's first segment stands for addresses below 4 GiB, where nothing is mapped.
static bool is_empty(const Segment *segment) { return !segment->protection; }

static void reserve(Image *image) {
    uint64_t start = UINT64_MAX, end = 0;
    for (int i = 0; i < image->segment_count; i++) {
        const Segment *segment = image->segments[i];
        if (is_empty(segment)) continue;
        if (segment->address < start) start = segment->address;
        if (segment->address + segment->size > end) end = segment->address + segment->size;
    }
    image->size = (end - start + PAGE - 1) / PAGE * PAGE + PAGE;
    image->memory = mmap(NULL, image->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (image->memory == MAP_FAILED) refuse("%s: no memory", image->path);
    uintptr_t place = ((uintptr_t)image->memory + PAGE - 1) / PAGE * PAGE;
    image->slide = place - start;
}

static void fill(Image *image, int file, size_t size) {
    for (int i = 0; i < image->segment_count; i++) {
        const Segment *segment = image->segments[i];
        if (is_empty(segment)) continue;
        char *place = (char *)(segment->address + image->slide);
        if (segment->address % PAGE || segment->file_offset % PAGE) refuse("%s: a segment not at a page", image->path);
        if (segment->file_size > segment->size) refuse("%s: more in the file than in memory", image->path);
        if (mmap(place, (segment->size + PAGE - 1) / PAGE * PAGE, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
            refuse("%s: no memory", image->path);
        }
        // The system maps whole pages, with what follows in the file. What is mapped keeps the file's number in use.
        size_t length = (segment->file_size + PAGE - 1) / PAGE * PAGE;
        size_t left = (size - segment->file_offset + SMALL_PAGE - 1) / SMALL_PAGE * SMALL_PAGE;
        if (segment->file_offset + segment->file_size > size) refuse("%s is cut off", image->path);
        if (length && mmap(place, length < left ? length : left, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file,
                           segment->file_offset) == MAP_FAILED) {
            refuse("%s could not be mapped", image->path);
        }
        if (!segment->file_offset && segment->file_size) image->header = place;
    }
}

// The commands are read in the segments, once these are there.
Image *map_image(const char *path) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    Header header;
    if (file < 0 || fstat(file, &status)) refuse("dlopen(%s): tried: '%s' (no such file)", path, path);
    check_header(path, file, &header);
    Image *image = calloc(1, sizeof *image);
    image->path = strdup(path);
    image->device = status.st_dev;
    image->file = status.st_ino;
    char *commands = malloc(header.commands_size);
    if (pread(file, commands, header.commands_size, sizeof header) != header.commands_size) {
        refuse("%s is cut off", path);
    }
    read_commands(image, &header, commands);
    reserve(image);
    fill(image, file, status.st_size);
    close(file);
    image->segment_count = image->linked_count = 0;
    read_commands(image, &header, image->header + sizeof header);
    free(commands);
    image->stays = header.flags & DARWIN_MH_HAS_TLV_DESCRIPTORS || header.kind == DARWIN_MH_EXECUTE;
    return image;
}

void unmap_image(Image *image) {
    munmap(image->memory, image->size);
    free(image->path);
    free(image);
}

// Pages get the segment's own protection, and constants can no longer be written.
void protect_image(Image *image) {
    for (int i = 0; i < image->segment_count; i++) {
        const Segment *segment = image->segments[i];
        if (is_empty(segment)) continue;
        char *place = (char *)(segment->address + image->slide);
        size_t length = (segment->size + PAGE - 1) / PAGE * PAGE;
        int protection = segment->flags & DARWIN_SG_READ_ONLY ? PROT_READ : (int)segment->protection;
        if (protection & PROT_EXEC) __builtin___clear_cache(place, place + length);
        if (mprotect(place, length, protection)) refuse("%s: mprotect failed", image->path);
    }
}

const char *content_at(const Image *image, uint64_t file_offset) {
    for (int i = 0; i < image->segment_count; i++) {
        const Segment *segment = image->segments[i];
        if (file_offset >= segment->file_offset && file_offset < segment->file_offset + segment->file_size) {
            return (const char *)(segment->address + image->slide + (file_offset - segment->file_offset));
        }
    }
    refuse("%s: no segment has the offset %#lx", image->path, (unsigned long)file_offset);
}

const Section *find_section(const Image *image, const char *segment, const char *name) {
    for (int i = 0; i < image->segment_count; i++) {
        const Section *sections = (const Section *)(image->segments[i] + 1);
        for (uint32_t j = 0; j < image->segments[i]->sections; j++) {
            if (!strncmp(sections[j].segment, segment, 16) && !strncmp(sections[j].name, name, 16)) return &sections[j];
        }
    }
    return NULL;
}

void each_section(Image *image, void (*visit)(Image *image, const Section *section)) {
    for (int i = 0; i < image->segment_count; i++) {
        const Section *sections = (const Section *)(image->segments[i] + 1);
        for (uint32_t j = 0; j < image->segments[i]->sections; j++) visit(image, &sections[j]);
    }
}

static uint64_t read_number(const uint8_t **at) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        uint8_t byte = *(*at)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return value;
    }
}

// Follows the tree of names: each node has its symbol, if any, then edges with parts of names.
void *find_export(const Image *image, const char *symbol, bool *is_found) {
    *is_found = false;
    if (!image->fixups->exports_size) return NULL;
    const uint8_t *tree = (const uint8_t *)content_at(image, image->fixups->exports), *node = tree;
    for (;;) {
        uint64_t size = read_number(&node);
        if (!*symbol) {
            if (!size) return NULL;
            uint64_t flags = read_number(&node);
            if (flags & (DARWIN_EXPORT_SYMBOL_FLAGS_REEXPORT | DARWIN_EXPORT_SYMBOL_FLAGS_STUB_AND_RESOLVER)) {
                refuse("%s: an export of an unknown kind", image->path);
            }
            *is_found = true;
            uint64_t address = read_number(&node);
            return flags & DARWIN_EXPORT_SYMBOL_FLAGS_KIND_MASK & 2 ? (void *)address : image->header + address;
        }
        node += size;
        int edges = *node++;
        const uint8_t *next = NULL;
        for (int i = 0; i < edges; i++) {
            size_t length = strlen((const char *)node);
            bool fits = !next && !strncmp(symbol, (const char *)node, length);
            node += length + 1;
            uint64_t place = read_number(&node);
            if (fits) {
                symbol += length;
                next = tree + place;
                break;
            }
        }
        if (!next) return NULL;
        node = next;
    }
}
