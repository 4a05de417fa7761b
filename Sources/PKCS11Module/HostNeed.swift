internal import CCryptoki
internal import CThinClient

/// The need for a host of this process's own. Programs load every configured module, and most users have neither cards nor keychains.
enum HostNeed {
    /// The failure where no host is started, since there is neither a card service nor a keychain.
    static let isMissing = Failure(
        CKR_SLOT_ID_INVALID, isHost: false, "there is neither a card service nor a keychain, and no host was started")

    /// Microseconds between two checks whether a host is needed.
    static let timeBetweenLooks: UInt32 = 500_000

    /// Whether there is a card service, a folder that may hold a keychain, or a setting for all users that may name one.
    static var isThere: Bool {
        if exists(path("PCSCLITE_CSOCK_NAME") ?? [UInt8]("/run/pcscd/pcscd.comm"), "") { return true }
        if hasSettings("/etc/tokenkit/keychains.conf") { return true }
        // A user of another database than /etc/passwd may have a keychain: the host looks the home up.
        guard let home = path("HOME") ?? UserHome.path else { return true }
        return exists(path("XDG_DATA_HOME"), "/tokenkit")
            || exists(path("XDG_CONFIG_HOME"), "/tokenkit")
            || exists(home, "/.local/share/tokenkit") || exists(home, "/.config/tokenkit")
    }

    /// Whether a file has a line that is more than a comment, as the one that packages install has not. One that cannot be read may have.
    private static func hasSettings(_ path: StaticString) -> Bool {
        let descriptor = unsafe path.utf8Start.withMemoryRebound(to: CChar.self, capacity: path.utf8CodeUnitCount + 1) {
            unsafe tokenkit_open_settings($0)
        }
        guard descriptor >= 0 else { return descriptor != -1 }
        defer { _ = close(descriptor) }
        var block = [UInt8](repeating: 0, count: 1024)
        var isComment = false
        // The longest file that the host reads.
        for _ in 0..<64 {
            let count = unsafe block.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { return count < 0 }
            for byte in block.prefix(count) {
                switch byte {
                case 0x0A: isComment = false
                case 0x23: isComment = true
                case 0x09, 0x0D, 0x20: break
                default: if !isComment { return true }
                }
            }
        }
        return true
    }

    private static func path(_ name: StaticString) -> [UInt8]? { HostSearch.absolutePath(name) }

    private static func exists(_ folder: [UInt8]?, _ name: StaticString) -> Bool {
        guard var path = folder else { return false }
        path.append(name)
        path.append(0)
        return unsafe path.withUnsafeBytes { path in
            guard let path = path.baseAddress else { return false }
            return unsafe access(path.assumingMemoryBound(to: CChar.self), F_OK) == 0
        }
    }
}
