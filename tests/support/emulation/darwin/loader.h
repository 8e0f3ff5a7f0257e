// A loader of macOS's libraries on Linux, and the C library that they find there: what the sources share.
#pragma once

#define _GNU_SOURCE
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "facts.h"

enum { PAGE = 16 << 10, MOST_NEEDED = 8, MOST_SEGMENTS = 8 };

typedef struct {
    uint32_t magic, processor, processor_kind, kind, commands, commands_size, flags, reserved;
} Header;
_Static_assert(sizeof(Header) == DARWIN_SIZE_mach_header, "mach_header_64");

typedef struct {
    uint32_t kind, size;
} Command;

typedef struct {
    Command command;
    char name[16];
    uint64_t address, size, file_offset, file_size;
    uint32_t most_protection, protection, sections, flags;
} Segment;
_Static_assert(sizeof(Segment) == DARWIN_SIZE_segment, "segment_command_64");

typedef struct {
    char name[16], segment[16];
    uint64_t address, size;
    uint32_t file_offset, alignment, relocations, relocation_count, flags, reserved[3];
} Section;
_Static_assert(sizeof(Section) == DARWIN_SIZE_section, "section_64");

typedef struct {
    Command command;
    uint32_t rebase, rebase_size, bind, bind_size, weak_bind, weak_bind_size, lazy_bind, lazy_bind_size, exports,
        exports_size;
} FixupPlaces;
_Static_assert(sizeof(FixupPlaces) == DARWIN_SIZE_dyld_info, "dyld_info_command");

typedef struct Image {
    char *path;
    uint64_t device, file;
    char *memory;  // with the distance to a whole page before it
    size_t size;
    char *header;    // where the file's first byte is
    intptr_t slide;  // what is added to the file's addresses
    const Segment *segments[MOST_SEGMENTS];
    int segment_count;
    const FixupPlaces *fixups;
    const char *linked_names[MOST_NEEDED];
    struct Image *linked[MOST_NEEDED];  // null for the system's
    int linked_count;
    uint64_t entry;  // of a program
    uint64_t thread_start, thread_size;
    unsigned thread_key;
    int references;
    bool is_visible, is_bound, is_started, stays;
    struct Image *next;
} Image;

// image.c
Image *map_image(const char *path);
void unmap_image(Image *image);
void protect_image(Image *image);
const char *content_at(const Image *image, uint64_t file_offset);
const Section *find_section(const Image *image, const char *segment, const char *name);
void each_section(Image *image, void (*visit)(Image *image, const Section *section));
void *find_export(const Image *image, const char *symbol, bool *is_found);

// fixups.c
void apply_fixups(Image *image);

// dyld.c
extern Image *images;
void *find_symbol(Image *image, int64_t library, const char *symbol, bool may_lack);
void *find_weak(const char *symbol);
_Noreturn void refuse(const char *form, ...) __attribute__((format(printf, 1, 2)));
extern _Thread_local char *load_error;

// threads.c
void prepare_thread_variables(Image *image);
void run_thread_exit(void);

// names.c
void *find_in_system(const char *symbol);

// unprovided.c
void *stub_of(const char *symbol);

// machine.c
int darwin_number(int linux_number);
int linux_number(int darwin_number);
