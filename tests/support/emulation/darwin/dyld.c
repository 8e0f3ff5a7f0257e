// Loads libraries with what they need, finds their symbols, and ends with a program's main function.
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "system.h"

enum { ORDINAL_SELF = 0, ORDINAL_WEAK = -3, MOST_WATCHERS = 8, MOST_TEXT = 1024 };

typedef int (*Main)(int count, char **arguments, char **variables, char **more);
typedef void (*Watcher)(const void *header, intptr_t slide);

Image *images;
_Thread_local char *load_error;
static _Thread_local jmp_buf *refused;
static pthread_mutex_t lock;  // initialisers may load libraries
static Image *program, *unwinder;  // macOS has the unwinder in its C library
static Watcher watchers[MOST_WATCHERS];
static int watcher_count;
static struct {
    int count;
    char **arguments, **variables;
} given;

void refuse(const char *form, ...) {
    static _Thread_local char text[MOST_TEXT];
    va_list list;
    va_start(list, form);
    vsnprintf(text, sizeof text, form, list);
    va_end(list);
    if (refused) {
        load_error = text;
        longjmp(*refused, 1);
    }
    fprintf(stderr, "loader of macOS's libraries: %s\n", text);
    abort();
}

static void *find_flat(const char *symbol) {
    for (Image *image = images; image; image = image->next) {
        bool is_found;
        void *found = image->is_visible ? find_export(image, symbol, &is_found) : NULL;
        if (found) return found;
    }
    return find_in_system(symbol);
}

static void *find_in_library(const Image *image, const char *symbol) {
    bool is_found;
    if (image) return find_export(image, symbol, &is_found);
    void *found = find_in_system(symbol);
    return found || !unwinder ? found : find_export(unwinder, symbol, &is_found);
}

void *find_symbol(Image *image, int64_t library, const char *symbol, bool may_lack) {
    void *found = NULL;
    if (library > image->linked_count || library < DARWIN_BIND_SPECIAL_DYLIB_FLAT_LOOKUP) {
        refuse("%s: no library %ld", image->path, (long)library);
    }
    if (library == DARWIN_BIND_SPECIAL_DYLIB_FLAT_LOOKUP) found = find_flat(symbol);
    else if (library == DARWIN_BIND_SPECIAL_DYLIB_MAIN_EXECUTABLE) found = find_in_library(program, symbol);
    else found = find_in_library(library == ORDINAL_SELF ? image : image->linked[library - 1], symbol);
    if (found || may_lack) return found;
    if (library > 0 && !image->linked[library - 1]) return stub_of(symbol);
    refuse("Symbol not found: %s, referenced from %s", symbol, image->path);
}

// Of symbols that several libraries have, the first counts for all.
void *find_weak(const char *symbol) {
    for (Image *image = images; image; image = image->next) {
        bool is_found;
        void *found = ((const Header *)image->header)->flags & DARWIN_MH_WEAK_DEFINES
                          ? find_export(image, symbol, &is_found)
                          : NULL;
        if (found) return found;
    }
    return NULL;
}

static void append(Image *image) {
    Image **end = &images;
    while (*end) end = &(*end)->next;
    *end = image;
}

static void forget(const Image *image) {
    Image **at = &images;
    while (*at != image) at = &(*at)->next;
    *at = image->next;
}

// What could not be loaded is forgotten.
static void forget_unbound(void) {
    for (Image *image = images, *next; image; image = next) {
        next = image->next;
        if (!image->is_bound) {
            forget(image);
            unmap_image(image);
        }
    }
}

static bool is_of_system(const char *name) { return !strcmp(name, "/usr/lib/libSystem.B.dylib"); }

static Image *find_loaded(const char *path) {
    struct stat status;
    if (stat(path, &status)) return NULL;
    for (Image *image = images; image; image = image->next) {
        if (image->device == status.st_dev && image->file == status.st_ino) return image;
    }
    return NULL;
}

// The folder of the one that needs a library stands for @rpath.
static void resolve(const char *name, const Image *asking, char *path) {
    const char *last = asking ? strrchr(asking->path, '/') : NULL;
    if (!strncmp(name, "@rpath/", 7) && last) {
        snprintf(path, PATH_MAX, "%.*s/%s", (int)(last - asking->path), asking->path, name + 7);
    } else if (!realpath(name, path)) {
        refuse("dlopen(%s): tried: '%s' (no such file)", name, name);
    }
}

static void call_all(Image *image, const Section *section) {
    typedef void (*Function)(int, char **, char **, char **, void *);
    char *place = (char *)(section->address + image->slide), *none[] = {NULL};
    uint32_t kind = section->flags & DARWIN_SECTION_TYPE;
    if (kind == DARWIN_S_MOD_INIT_FUNC_POINTERS) {
        for (size_t i = 0; i < section->size / 8; i++) {
            ((Function *)place)[i](given.count, given.arguments, given.variables, none, NULL);
        }
    } else if (kind == DARWIN_S_INIT_FUNC_OFFSETS) {
        for (size_t i = 0; i < section->size / 4; i++) {
            Function function = (Function)(image->header + ((uint32_t *)place)[i]);
            function(given.count, given.arguments, given.variables, none, NULL);
        }
    }
}

static void start(Image *image) {
    if (image->is_started) return;
    image->is_started = true;
    for (int i = 0; i < image->linked_count; i++) {
        if (image->linked[i]) start(image->linked[i]);
    }
    each_section(image, call_all);
}

// Maps a library, and the ones it is linked to.
static Image *map_all(const char *name, const Image *asking, bool is_visible) {
    char path[PATH_MAX];
    resolve(name, asking, path);
    Image *image = find_loaded(path);
    if (image) {
        image->references++;
        image->is_visible |= is_visible;
        return image;
    }
    image = map_image(path);
    image->references = 1;
    image->is_visible = is_visible;
    append(image);
    for (int i = 0; i < image->linked_count; i++) {
        if (is_of_system(image->linked_names[i])) continue;
        image->linked[i] = map_all(image->linked_names[i], image, is_visible && !getenv("LOCAL"));
    }
    return image;
}

// All new libraries are there before symbols are looked up in them.
static Image *load_unstarted(const char *name, bool is_visible) {
    Image *found = map_all(name, NULL, is_visible);
    for (Image *image = images; image; image = image->next) {
        if (image->is_bound) continue;
        apply_fixups(image);
        prepare_thread_variables(image);
        protect_image(image);
        image->is_bound = true;
    }
    return found;
}

static Image *load(const char *name, bool is_visible) {
    Image *image = load_unstarted(name, is_visible);
    start(image);
    return image;
}

void *darwin_dlopen(const char *name, int mode) {
    if (!name) return program;
    if (mode & ~(DARWIN_RTLD_LAZY | DARWIN_RTLD_NOW | DARWIN_RTLD_LOCAL | DARWIN_RTLD_GLOBAL | DARWIN_RTLD_NOLOAD |
                 DARWIN_RTLD_NODELETE)) {
        unknown("dlopen with the mode", mode);
    }
    bool is_visible = !(mode & DARWIN_RTLD_LOCAL);
    pthread_mutex_lock(&lock);
    jmp_buf place, *before = refused;
    refused = &place;
    Image *image = NULL;
    if (!setjmp(place)) {
        if (mode & DARWIN_RTLD_NOLOAD && !find_loaded(name)) refuse("dlopen(%s): not loaded", name);
        image = load(name, is_visible);
        image->stays |= mode & DARWIN_RTLD_NODELETE;
    }
    refused = before;
    if (!image) forget_unbound();
    pthread_mutex_unlock(&lock);
    return image;
}

int darwin_dlclose(void *handle) {
    Image *image = handle;
    pthread_mutex_lock(&lock);
    if (!--image->references && !image->stays) {
        for (int i = 0; i < watcher_count; i++) watchers[i](image->header, image->slide);
        forget(image);
        unmap_image(image);
    }
    pthread_mutex_unlock(&lock);
    return 0;
}

void *darwin_dlsym(void *handle, const char *name) {
    char symbol[MOST_TEXT];
    snprintf(symbol, sizeof symbol, "_%s", name);
    pthread_mutex_lock(&lock);
    bool is_default = handle == (void *)(intptr_t)DARWIN_RTLD_DEFAULT;
    if ((intptr_t)handle < 0 && !is_default) unknown("dlsym with the handle", (intptr_t)handle);
    void *found = is_default ? find_flat(symbol) : find_in_library(handle, symbol);
    pthread_mutex_unlock(&lock);
    static _Thread_local char text[MOST_TEXT];
    snprintf(text, sizeof text, "dlsym(%p, %s): symbol not found", handle, name);
    if (!found) load_error = text;
    return found;
}

char *darwin_dlerror(void) {
    char *text = load_error;
    load_error = NULL;
    return text;
}

static Image *image_at(const void *address) {
    for (Image *image = images; image; image = image->next) {
        if ((char *)address >= image->header && (char *)address < image->memory + image->size) return image;
    }
    return NULL;
}

int darwin_dladdr(const void *address, AddressFacts *facts) {
    pthread_mutex_lock(&lock);
    const Image *image = image_at(address);
    if (image) *facts = (AddressFacts){image->path, image->header, NULL, NULL};
    pthread_mutex_unlock(&lock);
    return !!image;
}

int darwin_find_unwind_sections(void *address, UnwindSections *found) {
    pthread_mutex_lock(&lock);
    const Image *image = image_at(address);
    if (image) {
        const Section *dwarf = find_section(image, "__TEXT", "__eh_frame");
        const Section *compact = find_section(image, "__TEXT", "__unwind_info");
        *found = (UnwindSections){image->header, dwarf ? (void *)(dwarf->address + image->slide) : NULL,
                                  dwarf ? dwarf->size : 0, compact ? (void *)(compact->address + image->slide) : NULL,
                                  compact ? compact->size : 0};
    }
    pthread_mutex_unlock(&lock);
    return !!image;
}

void darwin_register_remove(Watcher watcher) {
    if (watcher_count == MOST_WATCHERS) unknown("watchers of libraries", watcher_count);
    watchers[watcher_count++] = watcher;
}

static void new_lock(void) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &attributes);
}

static void take_lock(void) { pthread_mutex_lock(&lock); }

static void give_lock(void) { pthread_mutex_unlock(&lock); }

static void make_lock(void) {
    new_lock();
    // In a child, whose thread has another number, it still belongs to the parent's.
    pthread_atfork(take_lock, give_lock, new_lock);
}

// darwin UNWINDER PROGRAM ARGUMENT... runs a program; the variable LOCAL hides its libraries from others.
int main(int count, char **arguments, char **variables) {
    if (count < 3) return 2;
    char *none[] = {NULL};
    given.count = count - 2;
    given.arguments = arguments + 2;
    given.variables = variables;
    make_lock();
    prepare_system();
    unwinder = load(arguments[1], false);
    program = load_unstarted(arguments[2], true);
    start(program);
    Main entry = (Main)(program->header + program->entry);
    darwin_exit(entry(given.count, given.arguments, given.variables, none));
}
