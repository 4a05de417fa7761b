internal import Platform
internal import Wire

/// The environment variables that a client tells its host.
package enum ClientEnvironment {
    /// The variables for a host and for the modules of other makers that it starts, each as `NAME=value`. If there are more than a hello can
    /// have, modules go without their own.
    package static var variables: [[UInt8]] {
        let all = Environment.bytes.map(anywhere)
        let count = all.reduce(0) { $0 + $1.count }
        return count <= FrameHeader.maximumFields / 2 ? all : all.filter(HostVariables.includes)
    }

    /// A variable in the form that means the same in the host's working directory: relative paths are made absolute.
    private static func anywhere(_ bytes: [UInt8]) -> [UInt8] {
        guard let variable = String(validating: bytes, as: UTF8.self) else { return bytes }
        for name in ["SSL_CERT_FILE=", "PCSCLITE_CSOCK_NAME="] where variable.hasPrefix(name) {
            return Array((name + absolutePath(String(variable.dropFirst(name.count)))).utf8)
        }
        let modules = "TOKENKIT_MODULES="
        guard variable.hasPrefix(modules) else { return bytes }
        let names = variable.dropFirst(modules.count).split(separator: ":", omittingEmptySubsequences: false)
            .map { $0.contains("/") ? absolutePath(String($0)) : String($0) }
        return Array((modules + names.joined(separator: ":")).utf8)
    }
}
