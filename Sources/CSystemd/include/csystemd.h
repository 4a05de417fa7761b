#pragma once

#include <systemd/sd-bus.h>
#include <systemd/sd-login.h>

// The functions of libsystemd that are used, without their prefix. The library is loaded when a host asks for it: linked, it and the five
// libraries that it needs would delay the start of every host, and there would be no host on a system without systemd.
#define CSYSTEMD_FUNCTIONS(FUNCTION) \
    FUNCTION(bus_new) \
    FUNCTION(bus_set_address) \
    FUNCTION(bus_set_bus_client) \
    FUNCTION(bus_start) \
    FUNCTION(bus_close_unref) \
    FUNCTION(bus_get_fd) \
    FUNCTION(bus_get_events) \
    FUNCTION(bus_process) \
    FUNCTION(bus_call) \
    FUNCTION(bus_message_new_method_call) \
    FUNCTION(bus_message_append_basic) \
    FUNCTION(bus_message_open_container) \
    FUNCTION(bus_message_close_container) \
    FUNCTION(bus_message_unref) \
    FUNCTION(bus_message_get_sender) \
    FUNCTION(bus_message_get_path) \
    FUNCTION(bus_message_is_signal) \
    FUNCTION(bus_message_read_basic) \
    FUNCTION(bus_message_enter_container) \
    FUNCTION(bus_message_exit_container) \
    FUNCTION(bus_message_skip) \
    FUNCTION(bus_message_at_end) \
    FUNCTION(login_monitor_new) \
    FUNCTION(login_monitor_get_fd) \
    FUNCTION(login_monitor_flush) \
    FUNCTION(login_monitor_unref)

struct csystemd {
#define CSYSTEMD_FIELD(name) __typeof__(sd_##name) *name;
    CSYSTEMD_FUNCTIONS(CSYSTEMD_FIELD)
#undef CSYSTEMD_FIELD
};

/// Loads libsystemd once. It stays loaded. dlopen(3)
///
/// \returns NULL where it, or a function of it, is missing.
const struct csystemd *csystemd_load(void);
