"""Takes from a Python process the facilities that other systems lack."""

PROGRAM = """
import os, sys
# These choose by the system when they are imported, and find the functions of theirs.
import asyncio, multiprocessing, shutil, subprocess, tempfile
linux = (
    *("sched_", "memfd_", "pidfd_", "eventfd", "O_CLOEXEC", "O_NOFOLLOW", "O_DIRECTORY", "O_NONBLOCK"),
    *("pread", "pwrite", "preadv", "pwritev", "posix_f", "pipe2", "sendfile", "splice", "copy_file_range"),
    *("mkfifo", "mknod", "fork", "getuid", "geteuid", "getgid", "setsid", "fchmod", "fchown", "chown"),
)
for name in list(vars(os)):
    if name.startswith(linux):
        delattr(os, name)
os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks = set(), set(), set()
sys.modules.update(dict.fromkeys(("fcntl", "resource", "grp", "pwd")))
"""
"""A program to run after tvm_ffi, which has code for each system, and before the project is imported."""
