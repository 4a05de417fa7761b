internal import CLinux
internal import Glibc

/// Restrictions of this process, which keep its memory from other programs.
package enum Hardening {
    /// Has the kernel write no core dump, give no more rights to programs that this process starts, and show its memory to no other program
    /// of the user. A debug build can be debugged all the same.
    package static func begin() {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        clinux_forbid_rights()
        #if !DEBUG
            clinux_forbid_tracing()
        #endif
    }
}
