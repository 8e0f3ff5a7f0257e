// The one function of Android's header that the C library calls.
#pragma once

#if defined(__cplusplus)
extern "C"
#endif
int android_get_device_api_level(void);
