// Numbers as text, and text as numbers. A long double is a double there, and a list of arguments a pointer.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "system.h"

// Returns a copy of a form in which conversions of long doubles are those of doubles.
static char *without_long_doubles(const char *form, const char *instead) {
    char *made = malloc(2 * strlen(form) + 1), *end = made;
    for (bool is_inside = false; *form; form++) {
        if (!is_inside) is_inside = *form == '%';
        else is_inside = strchr("#0- +'*.123456789hljztL", *form);
        if (is_inside && *form == 'L') end = stpcpy(end, instead);
        else *end++ = *form;
    }
    *end = 0;
    return made;
}

static int print_to_text(char *text, size_t size, const char *form, void *from) {
    LIST(list, from)
    char *plain = without_long_doubles(form, "");
    int length = vsnprintf(text, size, plain, list);
    free(plain);
    return length;
}

int darwin_vfprintf(FILE *file, const char *form, void *from) {
    LIST(list, from)
    char *plain = without_long_doubles(form, "");
    int length = vfprintf(file, plain, list);
    free(plain);
    return length;
}

int darwin_vsnprintf(char *text, size_t size, const char *form, void *from) {
    return print_to_text(text, size, form, from);
}

int list_printf(const char *form, void *from) { return darwin_vfprintf(stdout, form, from); }

int list_fprintf(FILE *file, const char *form, void *from) { return darwin_vfprintf(file, form, from); }

int list_snprintf(char *text, size_t size, const char *form, void *from) {
    return print_to_text(text, size, form, from);
}

int list_snprintf_l(char *text, size_t size, const void *locale, const char *form, void *from) {
    check_locale(locale);
    return print_to_text(text, size, form, from);
}

int list_asprintf_l(char **text, const void *locale, const char *form, void *from) {
    check_locale(locale);
    int length = print_to_text(NULL, 0, form, from);
    *text = malloc(length + 1);
    return print_to_text(*text, length + 1, form, from);
}

int list_sscanf(const char *text, const char *form, void *from) {
    LIST(list, from)
    char *plain = without_long_doubles(form, "l");
    int count = vsscanf(text, plain, list);
    free(plain);
    return count;
}

double darwin_strtold(const char *text, char **end) { return strtod(text, end); }

double darwin_strtold_l(const char *text, char **end, const void *locale) {
    check_locale(locale);
    return strtod(text, end);
}

double darwin_strtod_l(const char *text, char **end, const void *locale) {
    check_locale(locale);
    return strtod(text, end);
}

float darwin_strtof_l(const char *text, char **end, const void *locale) {
    check_locale(locale);
    return strtof(text, end);
}
