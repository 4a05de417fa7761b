internal import CCryptoki
internal import CThinClient

/// The need for a host of this process's own. Programs load every configured module, and most users have neither cards nor keychains.
enum HostNeed {
    /// The failure where no host is started, since there is neither a card service nor a keychain.
    static let isMissing = Failure(
        CKR_SLOT_ID_INVALID, isHost: false, "there is neither a card service nor a keychain, and no host was started")

    /// Microseconds between two checks whether a host is needed.
    static let timeBetweenLooks: UInt32 = 500_000

    /// Whether there is a card service, or a folder that may hold a keychain.
    static var isThere: Bool {
        if exists(path("PCSCLITE_CSOCK_NAME") ?? [UInt8]("/run/pcscd/pcscd.comm"), "") { return true }
        if exists([UInt8]("/etc/tokenkit"), "") { return true }
        // A user of another database than /etc/passwd may have a keychain: the host looks the home up.
        guard let home = path("HOME") ?? UserHome.path else { return true }
        return exists(path("XDG_DATA_HOME"), "/tokenkit")
            || exists(path("XDG_CONFIG_HOME"), "/tokenkit")
            || exists(home, "/.local/share/tokenkit") || exists(home, "/.config/tokenkit")
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
