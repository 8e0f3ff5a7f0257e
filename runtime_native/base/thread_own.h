// Objects that each thread has for itself.
#pragma once

namespace kokoro {

// Returns the object of a type that the calling thread has. A thread destroys it at its end; a destructor that calls
// this library after that, as those of an app's static objects may, gets a new one.
template <class Object>
Object &own_of_thread() {
    // A pointer has no destructor, so it can be used until the thread is gone.
    thread_local Object *object = nullptr;
    struct Owner {
        ~Owner() {
            delete object;
            object = nullptr;
        }
    };
    if (!object) {
        object = new Object;
        thread_local Owner owner;
    }
    return *object;
}

}  // namespace kokoro
