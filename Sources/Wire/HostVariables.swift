/// The environment variables that a host runs with, and that a program without other makers' modules tells it: where the user's files and the card
/// service are, where and how a person can be asked, and the settings of this package.
package enum HostVariables {
    private static var names: [StaticString] {
        [
            "HOME=", "XDG_DATA_HOME=", "XDG_CONFIG_HOME=", "XDG_CACHE_HOME=", "XDG_RUNTIME_DIR=",
            "PCSCLITE_CSOCK_NAME=",
            "PATH=", "LANG=", "LANGUAGE=", "LC_ALL=", "LC_CTYPE=", "LC_MESSAGES=", "TERM=", "GPG_TTY=", "DISPLAY=",
            "WAYLAND_DISPLAY=", "XAUTHORITY=", "DBUS_SESSION_BUS_ADDRESS=", "PINENTRY_PROGRAM=", "SSL_CERT_FILE=",
        ]
    }

    /// Whether a host is given the variable. `TOKENKIT_DEBUG` and `TOKENKIT_HOST` are not: the client writes the log, and chooses the host.
    ///
    /// - Parameter variable: `NAME=value`.
    package static func includes(_ variable: [UInt8]) -> Bool {
        if begins(variable, "TOKENKIT_") {
            return !begins(variable, "TOKENKIT_DEBUG=") && !begins(variable, "TOKENKIT_HOST=")
        }
        return names.contains { begins(variable, $0) }
    }

    private static func begins(_ variable: [UInt8], _ name: StaticString) -> Bool {
        name.withUTF8Buffer { unsafe variable.starts(with: $0) }
    }
}
