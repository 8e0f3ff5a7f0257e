// The locale C, which is the only one there is: each byte is a character, and those from 128 on are nothing else.
#include <ctype.h>
#include <time.h>

#include "system.h"

enum { BYTES = 256 };

typedef struct {
    char before[DARWIN_AT_runes___runetype];
    uint32_t kinds[BYTES];
    int32_t lower[BYTES], upper[BYTES];
    char after[DARWIN_SIZE_runes - DARWIN_AT_runes___mapupper - 4 * BYTES];
} Runes;
_Static_assert(sizeof(Runes) == DARWIN_SIZE_runes, "_RuneLocale");
_Static_assert(offsetof(Runes, kinds) == DARWIN_AT_runes___runetype, "_RuneLocale");
_Static_assert(offsetof(Runes, lower) == DARWIN_AT_runes___maplower, "_RuneLocale");
_Static_assert(offsetof(Runes, upper) == DARWIN_AT_runes___mapupper, "_RuneLocale");

Runes darwin_runes = {.before = "RuneMagANONE"};

static uint32_t kinds_of(int byte) {
    uint32_t kinds = 0;
    if (byte >= 128) return 0;
    if (isalpha(byte)) kinds |= DARWIN__CTYPE_A;
    if (iscntrl(byte)) kinds |= DARWIN__CTYPE_C;
    if (isdigit(byte)) kinds |= DARWIN__CTYPE_D | (byte - '0');
    if (isgraph(byte)) kinds |= DARWIN__CTYPE_G;
    if (islower(byte)) kinds |= DARWIN__CTYPE_L;
    if (ispunct(byte)) kinds |= DARWIN__CTYPE_P;
    if (isspace(byte)) kinds |= DARWIN__CTYPE_S;
    if (isupper(byte)) kinds |= DARWIN__CTYPE_U;
    if (isxdigit(byte)) kinds |= DARWIN__CTYPE_X | (isdigit(byte) ? 0 : (byte | 32) - 'a' + 10);
    if (isblank(byte)) kinds |= DARWIN__CTYPE_B;
    if (isprint(byte)) kinds |= DARWIN__CTYPE_R | DARWIN__CTYPE_SW1;
    return kinds;
}

void prepare_characters(void) {
    for (int byte = 0; byte < BYTES; byte++) {
        darwin_runes.kinds[byte] = kinds_of(byte);
        darwin_runes.lower[byte] = byte < 128 ? tolower(byte) : byte;
        darwin_runes.upper[byte] = byte < 128 ? toupper(byte) : byte;
    }
}

void check_locale(const void *locale) {
    if (locale) unknown("the locale", (long)(intptr_t)locale);
}

int darwin_maskrune(int rune, unsigned long mask) {
    return rune >= 0 && rune < BYTES ? darwin_runes.kinds[rune] & mask : 0;
}

int darwin_tolower(int rune) { return rune >= 0 && rune < BYTES ? darwin_runes.lower[rune] : rune; }

int darwin_toupper(int rune) { return rune >= 0 && rune < BYTES ? darwin_runes.upper[rune] : rune; }

int darwin_mb_cur_max_l(const void *locale) {
    check_locale(locale);
    return 1;
}

// Without a text it says whether characters depend on those before them.
int darwin_mbtowc_l(wchar_t *found, const char *text, size_t size, const void *locale) {
    check_locale(locale);
    if (!text) return 0;
    if (!size) return -1;
    if (found) *found = (unsigned char)*text;
    return *text ? 1 : 0;
}

size_t darwin_strftime_l(char *text, size_t size, const char *form, const struct tm *time, const void *locale) {
    _Static_assert(sizeof *time == DARWIN_SIZE_tm, "struct tm");
    _Static_assert(offsetof(struct tm, tm_zone) == DARWIN_AT_tm_tm_zone, "struct tm");
    check_locale(locale);
    return strftime(text, size, form, time);
}

void darwin_freelocale(const void *locale) { check_locale(locale); }
