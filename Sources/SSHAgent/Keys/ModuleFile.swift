internal import Platform
internal import SecureBytes

/// The file of a PKCS #11 module that the agent runs: one that only root can change, below a folder of libraries.
struct ModuleFile {
    /// The path without symbolic links.
    let path: String

    /// The paths that may be modules: the default of OpenSSH's agent, ssh-agent(1), option `-P`.
    static let trusted = ["/usr/lib*/*", "/usr/local/lib*/*"]

    struct Refusal: Error {
        let reason: String
    }

    /// - Throws: ``Refusal``, with a reason that names what to do.
    init(_ given: [UInt8]) throws(Refusal) {
        guard let text = String(validating: given, as: UTF8.self), text.hasPrefix("/") else {
            throw Refusal(reason: "it has no path from the root on (give ssh-add the whole path)")
        }
        let file: RootsFile
        do throws(RootsFile.Refusal) { file = try RootsFile(text) } catch { throw Refusal(reason: error.reason) }
        guard ModuleFile.isTrusted(file.path) else {
            throw Refusal(
                reason:
                    "it is in \(file.path), and modules have to be below /usr/lib or /usr/local/lib (install it there)")
        }
        path = file.path
    }

    static func isTrusted(_ path: String) -> Bool {
        let bytes = Array(path.utf8)
        return trusted.contains { Pattern.matches(bytes[...], Array($0.utf8)[...]) }
    }
}
