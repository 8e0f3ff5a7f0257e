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

// Returns the address of a thread's own variable. The caller expects all other registers as they were, except for
// x16, x17, x30 and the flags.
.global thread_variable
.type thread_variable, %function
thread_variable:
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    sub sp, sp, #640
    stp x1, x2, [sp]
    stp x3, x4, [sp, #16]
    stp x5, x6, [sp, #32]
    stp x7, x8, [sp, #48]
    stp x9, x10, [sp, #64]
    stp x11, x12, [sp, #80]
    stp x13, x14, [sp, #96]
    stp x15, x18, [sp, #112]
    stp q0, q1, [sp, #128]
    stp q2, q3, [sp, #160]
    stp q4, q5, [sp, #192]
    stp q6, q7, [sp, #224]
    stp q8, q9, [sp, #256]
    stp q10, q11, [sp, #288]
    stp q12, q13, [sp, #320]
    stp q14, q15, [sp, #352]
    stp q16, q17, [sp, #384]
    stp q18, q19, [sp, #416]
    stp q20, q21, [sp, #448]
    stp q22, q23, [sp, #480]
    stp q24, q25, [sp, #512]
    stp q26, q27, [sp, #544]
    stp q28, q29, [sp, #576]
    stp q30, q31, [sp, #608]
    bl find_thread_variable
    ldp x1, x2, [sp]
    ldp x3, x4, [sp, #16]
    ldp x5, x6, [sp, #32]
    ldp x7, x8, [sp, #48]
    ldp x9, x10, [sp, #64]
    ldp x11, x12, [sp, #80]
    ldp x13, x14, [sp, #96]
    ldp x15, x18, [sp, #112]
    ldp q0, q1, [sp, #128]
    ldp q2, q3, [sp, #160]
    ldp q4, q5, [sp, #192]
    ldp q6, q7, [sp, #224]
    ldp q8, q9, [sp, #256]
    ldp q10, q11, [sp, #288]
    ldp q12, q13, [sp, #320]
    ldp q14, q15, [sp, #352]
    ldp q16, q17, [sp, #384]
    ldp q18, q19, [sp, #416]
    ldp q20, q21, [sp, #448]
    ldp q22, q23, [sp, #480]
    ldp q24, q25, [sp, #512]
    ldp q26, q27, [sp, #544]
    ldp q28, q29, [sp, #576]
    ldp q30, q31, [sp, #608]
    mov sp, x29
    ldp x29, x30, [sp], #16
    ret

.section .note.GNU-stack, "", %progbits
