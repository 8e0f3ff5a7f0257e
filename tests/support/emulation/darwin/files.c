// Files: other numbers of flags, another `struct stat`, and pages.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "system.h"

typedef struct {
    int32_t device;
    uint16_t mode, links;
    uint64_t number;
    uint32_t user, group;
    int32_t device_kind, unused;
    struct timespec read, written, changed, made;
    int64_t size, blocks;
    int32_t block_size;
    uint32_t flags, generation;
    int32_t more[5];
} Status;
_Static_assert(sizeof(Status) == DARWIN_SIZE_stat, "struct stat");
_Static_assert(offsetof(Status, mode) == DARWIN_AT_stat_st_mode, "struct stat");
_Static_assert(offsetof(Status, number) == DARWIN_AT_stat_st_ino, "struct stat");
_Static_assert(offsetof(Status, user) == DARWIN_AT_stat_st_uid, "struct stat");
_Static_assert(offsetof(Status, read) == DARWIN_AT_stat_st_atimespec, "struct stat");
_Static_assert(offsetof(Status, size) == DARWIN_AT_stat_st_size, "struct stat");
_Static_assert(offsetof(Status, block_size) == DARWIN_AT_stat_st_blksize, "struct stat");

typedef struct {
    int there, here;
} Flag;

static const Flag OPENING[] = {
    {DARWIN_O_WRONLY, O_WRONLY},       {DARWIN_O_RDWR, O_RDWR},     {DARWIN_O_NONBLOCK, O_NONBLOCK},
    {DARWIN_O_APPEND, O_APPEND},       {DARWIN_O_CREAT, O_CREAT},   {DARWIN_O_NOFOLLOW, O_NOFOLLOW},
    {DARWIN_O_TRUNC, O_TRUNC},         {DARWIN_O_EXCL, O_EXCL},     {DARWIN_O_DIRECTORY, O_DIRECTORY},
    {DARWIN_O_CLOEXEC, O_CLOEXEC},     {0, 0},
};
static const Flag MAPPING[] = {
    {DARWIN_MAP_SHARED, MAP_SHARED}, {DARWIN_MAP_PRIVATE, MAP_PRIVATE}, {DARWIN_MAP_FIXED, MAP_FIXED},
    {DARWIN_MAP_ANON, MAP_ANON},     {DARWIN_MAP_NORESERVE, MAP_NORESERVE}, {0, 0},
};
static const Flag FINDING[] = {
    {DARWIN_AT_SYMLINK_NOFOLLOW, AT_SYMLINK_NOFOLLOW}, {DARWIN_AT_SYMLINK_FOLLOW, AT_SYMLINK_FOLLOW},
    {DARWIN_AT_REMOVEDIR, AT_REMOVEDIR},               {0, 0},
};

static int translated(const char *what, int flags, const Flag *known) {
    int made = 0;
    for (; known->there; known++) {
        if (flags & known->there) made |= known->here;
        flags &= ~known->there;
    }
    if (flags) unknown(what, flags);
    return made;
}

static int directory_of(int number) { return number == DARWIN_AT_FDCWD ? AT_FDCWD : number; }

int list_openat(int directory, const char *path, int flags, const int *mode) {
    int made = translated("open with the flags", flags, OPENING);
    return openat(directory_of(directory), path, made, flags & DARWIN_O_CREAT ? *mode : 0);
}

int list_open(const char *path, int flags, const int *mode) { return list_openat(DARWIN_AT_FDCWD, path, flags, mode); }

static int give_status(int result, const struct stat *found, Status *status) {
    if (result) return result;
    *status = (Status){
        .device = found->st_dev, .mode = found->st_mode, .links = found->st_nlink, .number = found->st_ino,
        .user = found->st_uid, .group = found->st_gid, .device_kind = found->st_rdev, .read = found->st_atim,
        .written = found->st_mtim, .changed = found->st_ctim, .made = found->st_ctim, .size = found->st_size,
        .blocks = found->st_blocks, .block_size = found->st_blksize,
    };
    return 0;
}

int darwin_stat(const char *path, Status *status) {
    struct stat found;
    return give_status(stat(path, &found), &found, status);
}

int darwin_lstat(const char *path, Status *status) {
    struct stat found;
    return give_status(lstat(path, &found), &found, status);
}

int darwin_fstat(int file, Status *status) {
    struct stat found;
    return give_status(fstat(file, &found), &found, status);
}

int darwin_fstatat(int directory, const char *path, Status *status, int flags) {
    struct stat found;
    flags = translated("fstatat with the flags", flags, FINDING);
    return give_status(fstatat(directory_of(directory), path, &found, flags), &found, status);
}

int darwin_fchmodat(int directory, const char *path, int mode, int flags) {
    return fchmodat(directory_of(directory), path, mode, translated("fchmodat with the flags", flags, FINDING));
}

int darwin_unlinkat(int directory, const char *path, int flags) {
    return unlinkat(directory_of(directory), path, translated("unlinkat with the flags", flags, FINDING));
}

void *darwin_mmap(void *place, size_t size, int protection, int flags, int file, int64_t offset) {
    if (protection & ~(PROT_READ | PROT_WRITE | PROT_EXEC)) unknown("mmap with the protection", protection);
    // Pages have 16 KiB there.
    if (offset % PAGE) {
        errno = EINVAL;
        return MAP_FAILED;
    }
    return mmap(place, size, protection, translated("mmap with the flags", flags, MAPPING), file, offset);
}

uint32_t darwin_arc4random(void) {
    uint32_t number;
    if (getrandom(&number, sizeof number, 0) != sizeof number) unknown("arc4random", 0);
    return number;
}
