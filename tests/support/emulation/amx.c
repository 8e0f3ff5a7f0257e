// Intel's matrix unit AMX, for processors without it: executes its instructions when they are refused.
//
// A processor that does not know an instruction raises SIGILL. Once this library is loaded, preloaded or by
// dlopen, its handler of this signal reads the instruction, executes it on tiles of the thread's own, and goes on
// behind it. It has palette 1 and products of bfloat16, with the faults that Intel's manual names (Software
// Developer's Manual, volume 2, exception classes AMX-E1 to E6). Like Linux it refuses tiles to a process that
// has not asked for them by arch_prctl. A process that asks through the C library must have preloaded this
// library, whose `syscall` answers in place of the kernel.
#define _GNU_SOURCE
#include <errno.h>
#include <immintrin.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { TILES = 8, ROWS = 16, ROW_BYTES = 64 };
enum { SYSCALL_ARCH_PRCTL = 158, ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
// Default rounding and masks; subnormal inputs and results are 0.
enum { CONTROL = 0x1f80 | 0x8000 | 0x0040 };
enum { NO_PREFIX, PREFIX_66, PREFIX_F3, PREFIX_F2 };
#define AVX512 __attribute__((target("avx512f"), noinline))

typedef struct {
    uint8_t bytes[ROWS][ROW_BYTES];
} tile_t;

typedef struct {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} configuration_t;

// What an instruction does to the process. `OTHER` is no instruction of AMX.
typedef enum { DONE, OTHER, UNDEFINED, PROTECTION } outcome_t;

typedef struct {
    int prefix, opcode, reg, rm, vvvv, is_register, length;
    uintptr_t address, stride;
} instruction_t;

static _Thread_local _Alignas(64) tile_t tiles[TILES];
static _Thread_local configuration_t configuration;
static atomic_int permitted;
static struct sigaction previous;

static const int REGISTERS[16] = {
    REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
    REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
};

// Reads the bytes of an operand in memory behind the ModRM byte.
static const uint8_t *read_address(const greg_t *registers, const uint8_t *at, int mode, int x, int b,
                                   instruction_t *found) {
    const int with_index = found->rm == 4;
    const uint8_t index = with_index ? *at++ : 0;
    const int base = with_index ? index & 7 : found->rm, based = base != 5 || mode != 0;
    const int index_number = (index >> 3 & 7) | x;
    uintptr_t address = based ? (uintptr_t)registers[REGISTERS[base | b]] : 0;
    if (with_index && index_number != 4)
        found->stride = (uintptr_t)registers[REGISTERS[index_number]] << (index >> 6);
    if (mode == 1) {
        address += (uintptr_t)(intptr_t)(int8_t)*at++;
    } else if (mode == 2 || !based) {
        int32_t displacement;
        memcpy(&displacement, at, sizeof displacement);
        at += sizeof displacement;
        address += (uintptr_t)(intptr_t)displacement;
        // Without a base and an index it is relative to the next instruction.
        if (!based && !with_index)
            address += (uintptr_t)at;
    }
    found->address = address;
    return at;
}

// Reads a VEX-encoded instruction with the opcodes of AMX; returns 0 if it is another one.
static int decode(const greg_t *registers, const uint8_t *at, instruction_t *found) {
    const uint8_t *start = at;
    memset(found, 0, sizeof *found);
    // VEX of three bytes, map 0F38, W = 0, 128 bits.
    if (at[0] != 0xc4 || (at[1] & 0x1f) != 2 || (at[2] & 0x84) != 0)
        return 0;
    found->opcode = at[3];
    if (found->opcode != 0x49 && found->opcode != 0x4b && found->opcode != 0x5c)
        return 0;
    found->prefix = at[2] & 3;
    found->vvvv = ~at[2] >> 3 & 15;
    int x = at[1] & 0x40 ? 0 : 8, b = at[1] & 0x20 ? 0 : 8, mode = at[4] >> 6;
    found->reg = (at[4] >> 3 & 7) | (at[1] & 0x80 ? 0 : 8);
    found->rm = at[4] & 7;
    found->is_register = mode == 3;
    at += 5;
    if (found->is_register)
        found->rm |= b;
    else
        at = read_address(registers, at, mode, x, b, found);
    found->length = (int)(at - start);
    return 1;
}

static outcome_t load_configuration(const void *address) {
    configuration_t new;
    memcpy(&new, address, sizeof new);
    if (new.palette > 1)
        return PROTECTION;
    if (new.palette == 1) {
        for (int i = 0; i < 14; i++)
            if (new.reserved[i])
                return PROTECTION;
        for (int i = 0; i < 16; i++) {
            if (new.row_bytes[i] > (i < TILES ? ROW_BYTES : 0) || new.rows[i] > (i < TILES ? ROWS : 0))
                return PROTECTION;
            if (!new.row_bytes[i] != !new.rows[i])
                return PROTECTION;
        }
    } else {
        memset(&new, 0, sizeof new);
    }
    configuration = new;
    memset(tiles, 0, sizeof tiles);
    return DONE;
}

// Whether a tile exists in the configuration of this thread.
static int is_configured(int tile) {
    return configuration.palette == 1 && tile < TILES && configuration.rows[tile] != 0;
}

static outcome_t load_tile(const instruction_t *found) {
    if (!is_configured(found->reg))
        return UNDEFINED;
    tile_t *tile = &tiles[found->reg];
    int rows = configuration.rows[found->reg], bytes = configuration.row_bytes[found->reg];
    for (int row = configuration.start_row; row < ROWS; row++) {
        int count = row < rows ? bytes : 0;
        if (count)
            memcpy(tile->bytes[row], (const void *)(found->address + (uintptr_t)row * found->stride),
                   (size_t)count);
        memset(tile->bytes[row] + count, 0, (size_t)(ROW_BYTES - count));
    }
    configuration.start_row = 0;
    return DONE;
}

static outcome_t store_tile(const instruction_t *found) {
    if (!is_configured(found->reg))
        return UNDEFINED;
    for (int row = configuration.start_row; row < configuration.rows[found->reg]; row++)
        memcpy((void *)(found->address + (uintptr_t)row * found->stride), tiles[found->reg].bytes[row],
               configuration.row_bytes[found->reg]);
    configuration.start_row = 0;
    return DONE;
}

// The even and the odd bfloat16 of 16 pairs, as float32.
AVX512 static void split(const uint8_t *pairs, __m512 *even, __m512 *odd) {
    __m512i both = _mm512_load_si512(pairs);
    *even = _mm512_castsi512_ps(_mm512_slli_epi32(both, 16));
    *odd = _mm512_castsi512_ps(_mm512_and_si512(both, _mm512_set1_epi32((int)0xffff0000)));
}

// Adds the products of `depth` pairs of bfloat16 to each sum, by the manual's definition.
AVX512 static void add_products(tile_t *sums, const tile_t *first, const tile_t *second, int rows, int depth,
                                int columns) {
    enum { TOGETHER = 4 };
    const __mmask16 present = (__mmask16)((1u << columns) - 1);
    __m512 even[ROWS], odd[ROWS];
    for (int k = 0; k < depth; k++)
        split(second->bytes[k], &even[k], &odd[k]);
    for (int row = 0; row < rows; row += TOGETHER) {
        __m512 evens[TOGETHER], odds[TOGETHER];
        for (int i = 0; i < TOGETHER; i++)
            evens[i] = odds[i] = _mm512_setzero_ps();
        for (int k = 0; k < depth; k++) {
            for (int i = 0; i < TOGETHER; i++) {
                uint32_t pair;
                memcpy(&pair, &first->bytes[row + i][4 * k], 4);
                __m512i both = _mm512_set1_epi32((int)pair);
                __m512 high = _mm512_castsi512_ps(_mm512_and_si512(both, _mm512_set1_epi32((int)0xffff0000)));
                __m512 low = _mm512_castsi512_ps(_mm512_slli_epi32(both, 16));
                evens[i] = _mm512_fmadd_ps(low, even[k], evens[i]);
                odds[i] = _mm512_fmadd_ps(high, odd[k], odds[i]);
            }
        }
        for (int i = 0; i < TOGETHER && row + i < rows; i++) {
            float *sum = (float *)sums->bytes[row + i];
            __m512 total = _mm512_add_ps(_mm512_load_ps(sum), _mm512_add_ps(evens[i], odds[i]));
            _mm512_store_ps(sum, _mm512_maskz_mov_ps(present, total));
        }
    }
}

static outcome_t multiply(const instruction_t *found) {
    int sums = found->reg, first = found->rm, second = found->vvvv;
    const uint16_t *bytes = configuration.row_bytes;
    const uint8_t *rows = configuration.rows;
    if (!is_configured(sums) || !is_configured(first) || !is_configured(second))
        return UNDEFINED;
    if (sums == first || first == second || sums == second)
        return UNDEFINED;
    if (bytes[sums] % 4 || bytes[first] % 4 || bytes[second] % 4)
        return UNDEFINED;
    if (rows[sums] != rows[first] || bytes[first] / 4 != rows[second] || bytes[sums] != bytes[second])
        return UNDEFINED;
    add_products(&tiles[sums], &tiles[first], &tiles[second], rows[sums], rows[second], bytes[sums] / 4);
    return DONE;
}

static outcome_t execute(const instruction_t *found) {
    const int in_memory = !found->is_register, with_stride = in_memory && found->rm == 4;
    if (!atomic_load(&permitted))
        return UNDEFINED;
    switch (found->opcode << 8 | found->prefix) {
    case 0x4900 | NO_PREFIX: // ldtilecfg and tilerelease
        if (found->reg || found->vvvv || (!in_memory && found->rm))
            return UNDEFINED;
        if (in_memory)
            return load_configuration((const void *)found->address);
        memset(&configuration, 0, sizeof configuration);
        memset(tiles, 0, sizeof tiles);
        return DONE;
    case 0x4900 | PREFIX_66: // sttilecfg
        if (found->reg || found->vvvv || !in_memory)
            return UNDEFINED;
        memcpy((void *)found->address, &configuration, sizeof configuration);
        return DONE;
    case 0x4900 | PREFIX_F2: // tilezero
        if (in_memory || found->rm || found->vvvv || !is_configured(found->reg))
            return UNDEFINED;
        memset(&tiles[found->reg], 0, sizeof tiles[0]);
        return DONE;
    case 0x4b00 | PREFIX_F2: // tileloadd
    case 0x4b00 | PREFIX_66: // tileloaddt1
        return with_stride && !found->vvvv ? load_tile(found) : UNDEFINED;
    case 0x4b00 | PREFIX_F3: // tilestored
        return with_stride && !found->vvvv ? store_tile(found) : UNDEFINED;
    case 0x5c00 | PREFIX_F3: // tdpbf16ps
        return in_memory ? UNDEFINED : multiply(found);
    default:
        return OTHER;
    }
}

static void on_illegal_instruction(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    int executed = 0;
    // The kernel restores the register when the handler returns.
    _mm_setcsr(CONTROL);
    for (;; executed++) {
        instruction_t found;
        outcome_t outcome = OTHER;
        if (decode(registers, (const uint8_t *)registers[REG_RIP], &found))
            outcome = execute(&found);
        if (outcome == DONE) {
            // Signals take far longer than instructions, so those that follow at once are executed too.
            registers[REG_RIP] += found.length;
            continue;
        }
        if (outcome == PROTECTION) {
            raise(SIGSEGV);
            abort();
        }
        // What follows is not for this handler; the processor comes to it by itself.
        if (executed)
            return;
        sigaction(SIGILL, &previous, NULL);
        return;
    }
}

__attribute__((constructor)) static void install(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_illegal_instruction;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGILL, &action, &previous);
}

// The C library's `syscall`, but for one question.
long syscall(long number, ...) {
    long given[6], result;
    va_list arguments;
    va_start(arguments, number);
    // There may be fewer, and then the kernel looks at as many.
    for (int i = 0; i < 6; i++)
        given[i] = va_arg(arguments, long);
    va_end(arguments);
    if (number == SYSCALL_ARCH_PRCTL && given[0] == ARCH_REQ_XCOMP_PERM && given[1] == XFEATURE_XTILEDATA) {
        const char *answer = getenv("AMX_EMULATED_PERMISSION");
        if (answer && strcmp(answer, "refused") == 0) {
            errno = EINVAL;
            return -1;
        }
        atomic_store(&permitted, 1);
        return 0;
    }
    register long fourth __asm__("r10") = given[3];
    register long fifth __asm__("r8") = given[4];
    register long sixth __asm__("r9") = given[5];
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(given[0]), "S"(given[1]), "d"(given[2]), "r"(fourth), "r"(fifth),
                       "r"(sixth)
                     : "rcx", "r11", "memory");
    if (result < 0 && result > -4096) {
        errno = (int)-result;
        return -1;
    }
    return result;
}
