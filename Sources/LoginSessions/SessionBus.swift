internal import Platform

/// The address of the bus of the user's session.
package enum SessionBus {
    /// The address; nil where the environment names no bus.
    ///
    /// `DBUS_SESSION_BUS_ADDRESS` names it, or else it is at the socket `bus` in `XDG_RUNTIME_DIR` (D-Bus specification, "Well-known Message
    /// Bus Instances"). Only sockets count: other addresses have a bus started (`autolaunch:`), or a program (`unixexec:`).
    ///
    /// - Parameter variable: the value of an environment variable.
    package static func address(_ variable: (String) -> String? = { Environment.variable($0) }) -> String? {
        if let addresses = variable("DBUS_SESSION_BUS_ADDRESS"), !addresses.isEmpty {
            let sockets = addresses.split(separator: ";").filter { $0.hasPrefix("unix:") }
            return sockets.isEmpty ? nil : sockets.joined(separator: ";")
        }
        guard let runtime = variable("XDG_RUNTIME_DIR"), runtime.hasPrefix("/") else { return nil }
        return "unix:path=\(escaped(runtime))/bus"
    }

    /// A value of an address. D-Bus specification, "Server Addresses".
    private static func escaped(_ value: String) -> String {
        var text = ""
        for byte in value.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "/"),
                UInt8(ascii: "."):
                text.unicodeScalars.append(Unicode.Scalar(byte))
            default: text += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }
        }
        return text
    }
}
