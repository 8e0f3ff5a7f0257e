// Functions that macOS's code calls in another way than Linux's.

// Unnamed arguments are all on the stack: where they begin becomes a named argument.
.macro unnamed name, place
    .global darwin_\name
    .type darwin_\name, %function
darwin_\name:
    mov \place, sp
    b list_\name
.endm

.text
unnamed printf, x1
unnamed fprintf, x2
unnamed sscanf, x2
unnamed open, x2
unnamed snprintf, x3
unnamed asprintf_l, x3
unnamed openat, x3
unnamed snprintf_l, x4

// Stores registers at the stack's end, or loads them.
.macro registers transfer
    \transfer x1, x2, [sp]
    \transfer x3, x4, [sp, #16]
    \transfer x5, x6, [sp, #32]
    \transfer x7, x8, [sp, #48]
    \transfer x9, x10, [sp, #64]
    \transfer x11, x12, [sp, #80]
    \transfer x13, x14, [sp, #96]
    \transfer x15, x18, [sp, #112]
    \transfer q0, q1, [sp, #128]
    \transfer q2, q3, [sp, #160]
    \transfer q4, q5, [sp, #192]
    \transfer q6, q7, [sp, #224]
    \transfer q8, q9, [sp, #256]
    \transfer q10, q11, [sp, #288]
    \transfer q12, q13, [sp, #320]
    \transfer q14, q15, [sp, #352]
    \transfer q16, q17, [sp, #384]
    \transfer q18, q19, [sp, #416]
    \transfer q20, q21, [sp, #448]
    \transfer q22, q23, [sp, #480]
    \transfer q24, q25, [sp, #512]
    \transfer q26, q27, [sp, #544]
    \transfer q28, q29, [sp, #576]
    \transfer q30, q31, [sp, #608]
.endm

// Returns the address of a thread's own variable. The caller expects all other registers as they were, except for
// x16, x17, x30 and the flags.
.global thread_variable
.type thread_variable, %function
thread_variable:
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    sub sp, sp, #640
    registers stp
    bl find_thread_variable
    registers ldp
    mov sp, x29
    ldp x29, x30, [sp], #16
    ret

.section .note.GNU-stack, "", %progbits
