// Asks the stand-in for macOS's C library what a program of macOS may rely on: ./darwin_probe
//
// It is compiled with macOS's headers. What is not as they say ends it with status 1 and the line.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <iomanip>
#include <mutex>
#include <shared_mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace {

#define EXPECT(condition) \
    if (!(condition)) { \
        std::fprintf(stderr, "line %d: %s; errno %d\n", __LINE__, #condition, errno); \
        std::_Exit(1); \
    }

__attribute__((format(printf, 1, 2))) std::string printed(const char *form, ...) {
    char text[256];
    va_list list;
    va_start(list, form);
    int length = vsnprintf(text, sizeof text, form, list);
    va_end(list);
    EXPECT(length == static_cast<int>(std::strlen(text)));
    return text;
}

void print() {
    char text[256];
    std::snprintf(text, sizeof text, "%d %s %.2f %c %lld %*d %zu %%L %hhd", -1, "two", 3.5, '4', 5LL, 3, 6, size_t{7},
                  8);
    EXPECT(!std::strcmp(text, "-1 two 3.50 4 5   6 7 %L 8"));
    EXPECT(printed("%Lf %g %d %5.1Lf|", 1.5L, 2.5, 3, 4.25L) == "1.500000 2.5 3   4.2|");
    EXPECT(printed("%d%d%d%d%d%d%d%d%d%g%g%g%g%g%g%g%g%g", 1, 2, 3, 4, 5, 6, 7, 8, 9, 1., 2., 3., 4., 5., 6., 7., 8.,
                   9.) == "123456789123456789");
    int number;
    double real;
    long double same;
    EXPECT(std::sscanf("12 0.5 0.25 x", "%d %lf %Lf", &number, &real, &same) == 3);
    EXPECT(number == 12 && real == 0.5 && same == 0.25L);
    std::ostringstream stream;
    stream << std::fixed << std::setprecision(3) << 1.0 / 3 << ' ' << 0.5L << ' ' << std::hex << 255 << ' ' << true;
    EXPECT(stream.str() == "0.333 0.500 ff 1");
    std::istringstream words("17 -2.5e3 end");
    std::string last;
    EXPECT(words >> number >> real >> last && number == 17 && real == -2500 && last == "end");
    EXPECT(std::stod("0x1p-3") == 0.125 && std::to_string(1.25f) == "1.250000");
    EXPECT(std::isalpha('q') && !std::isalpha('1') && std::isspace('\t') && std::isxdigit('f') && std::ispunct('!'));
    EXPECT(std::toupper('e') == 'E' && std::tolower('E') == 'e' && !std::isalpha(0xe9) && std::iscntrl(0x7f));
}

void use_files() {
    char folder[] = "/tmp/darwin-probe-XXXXXX";
    EXPECT(mkdtemp(folder));
    std::string path = std::string(folder) + "/file";
    EXPECT(open(path.c_str(), O_RDONLY) == -1 && errno == ENOENT);
    int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
    EXPECT(file >= 0 && write(file, "12345", 5) == 5);
    EXPECT(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600) == -1 && errno == EEXIST);
    struct stat found, again;
    EXPECT(!fstat(file, &found) && !fstatat(AT_FDCWD, path.c_str(), &again, AT_SYMLINK_NOFOLLOW));
    EXPECT(found.st_size == 5 && S_ISREG(found.st_mode) && (found.st_mode & 0777) == 0640 && found.st_nlink == 1);
    EXPECT(found.st_ino == again.st_ino && found.st_dev == again.st_dev && found.st_uid == again.st_uid);
    EXPECT(std::abs(found.st_mtimespec.tv_sec - std::time(nullptr)) < 100);
    void *memory = mmap(nullptr, 5, PROT_READ, MAP_PRIVATE, file, 0);
    EXPECT(memory != MAP_FAILED && !std::memcmp(memory, "12345", 5) && !munmap(memory, 5));
    EXPECT(mmap(nullptr, 5, PROT_READ, MAP_PRIVATE, file, 4096) == MAP_FAILED && errno == EINVAL);
    EXPECT(mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0) != MAP_FAILED);
    EXPECT(rmdir(folder) == -1 && errno == ENOTEMPTY);
    EXPECT(std::generic_category().message(ENOTEMPTY) == "Directory not empty");
    int directory = open(folder, O_RDONLY | O_DIRECTORY);
    EXPECT(directory >= 0 && openat(directory, "other", O_RDONLY) == -1 && errno == ENOENT);
    EXPECT(!close(file) && !close(directory) && !unlink(path.c_str()) && !rmdir(folder));
    errno = 0;
    EXPECT(std::strtol("99999999999999999999", nullptr, 10) == LONG_MAX && errno == ERANGE);
}

void ask_the_system() {
    utsname names;
    EXPECT(!uname(&names) && std::string(names.sysname) == "Darwin" && std::string(names.machine) == "arm64");
    EXPECT(sysconf(_SC_PAGESIZE) == 16384 && sysconf(_SC_NPROCESSORS_ONLN) > 0);
    char version[32];
    size_t size = sizeof version;
    EXPECT(!sysctlbyname("kern.osproductversion", version, &size, nullptr, 0) && size == std::strlen(version) + 1);
    EXPECT(sysctlbyname("hw.optional.arm.FEAT_BF16", version, &size, nullptr, 0) == -1 && errno == ENOENT);
    timespec before, after;
    EXPECT(!clock_gettime(CLOCK_MONOTONIC, &before) && !clock_gettime(CLOCK_UPTIME_RAW, &after));
    Dl_info here;
    EXPECT(dladdr(reinterpret_cast<void *>(&ask_the_system), &here) && std::strstr(here.dli_fname, "darwin_probe"));
    EXPECT(dlsym(RTLD_DEFAULT, "malloc") && !dlsym(RTLD_DEFAULT, "no_such_name") && dlerror());
    EXPECT(!dlopen("/no/such/library.dylib", RTLD_NOW) && std::strstr(dlerror(), "no such file"));
    EXPECT(std::abs(std::sin(0.5) * std::sin(0.5) + std::cos(0.5) * std::cos(0.5) - 1) < 1e-15);
}

void use_locks() {
    using namespace std::chrono_literals;
    std::recursive_mutex twice;
    std::scoped_lock first(twice);
    EXPECT(twice.try_lock());
    twice.unlock();
    std::shared_mutex shared;
    shared.lock_shared();
    shared.unlock_shared();
    std::mutex mutex;
    std::condition_variable changed;
    std::unique_lock<std::mutex> lock(mutex);
    EXPECT(changed.wait_for(lock, 5ms) == std::cv_status::timeout);
    pthread_mutexattr_t attributes;
    pthread_mutex_t checked;
    EXPECT(!pthread_mutexattr_init(&attributes) && !pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK));
    EXPECT(!pthread_mutex_init(&checked, &attributes) && !pthread_mutex_lock(&checked));
    EXPECT(pthread_mutex_lock(&checked) == EDEADLK && !pthread_mutex_unlock(&checked));
    EXPECT(!pthread_mutex_destroy(&checked) && pthread_mutex_lock(&checked) == EINVAL);
    static pthread_mutex_t written_down = PTHREAD_RECURSIVE_MUTEX_INITIALIZER;
    EXPECT(!pthread_mutex_lock(&written_down) && !pthread_mutex_lock(&written_down));
}

int destroyed;

struct Counted {
    ~Counted() { destroyed++; }
    int value = 3;
};

thread_local int number = 7;
thread_local Counted counted;

void use_threads() {
    number = counted.value = 1;
    std::vector<std::thread> threads;
    for (int each = 0; each < 4; each++) {
        threads.emplace_back([=] {
            EXPECT(number == 7 && counted.value == 3);
            number = each;
            std::this_thread::yield();
            EXPECT(number == each);
        });
    }
    for (std::thread &each : threads) each.join();
    EXPECT(number == 1 && counted.value == 1 && destroyed == 4);
}

struct OnStack {
    int *count;
    ~OnStack() { ++*count; }
};

__attribute__((noinline)) void dive(int depth, int *count, double kept) {
    OnStack each{count};
    if (!depth) throw std::out_of_range("deep " + std::to_string(kept));
    dive(depth - 1, count, kept + 1);
}

void throw_and_catch() {
    int count = 0;
    std::exception_ptr kept;
    std::thread thread([&] {
        try {
            dive(10, &count, 0.5);
        } catch (const std::logic_error &) {
            kept = std::current_exception();
        }
    });
    thread.join();
    EXPECT(count == 11 && kept);
    try {
        std::rethrow_exception(kept);
    } catch (const std::out_of_range &error) {
        EXPECT(std::string(error.what()) == "deep 10.500000");
        return;
    }
    EXPECT(false);
}

}  // namespace

int main() {
    print();
    use_files();
    ask_the_system();
    use_locks();
    use_threads();
    throw_and_catch();
}
