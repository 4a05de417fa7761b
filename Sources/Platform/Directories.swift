/// The folders for files, by the XDG Base Directory Specification.
public struct Directories: Sendable, Hashable {
    /// The home of the user whose rights the program has.
    public let home: String
    /// The folder of keychains and the files that belong to them: `$XDG_DATA_HOME/tokenkit`.
    public let data: String
    /// The folder of the user's settings: `$XDG_CONFIG_HOME/tokenkit`.
    public let configuration: String
    /// The folder of facts that can be found out again: `$XDG_CACHE_HOME/tokenkit`.
    public let cache: String
    /// The folder of sockets: `$XDG_RUNTIME_DIR`, unless it is another user's, as after `sudo -E`; or the folder for
    /// data where the session has none.
    public let runtime: String
    /// The folder of the whole system's settings.
    public let system: String
    /// The user who owns the files in ``system``, and alone may write them: root.
    public let systemOwner: UInt32
    /// The folder that is emptied when the machine is switched off: `$XDG_RUNTIME_DIR`, or for programs that a service
    /// or `sudo` starts, which have none, a folder that they share. Nil where the user has no such folder.
    public let volatile: String?
    /// The reason why ``volatile`` is not a folder in memory, for people; nil where it is one.
    public let volatileRemark: String?

    /// The ending of the name of a keychain's file.
    public static let keychainSuffix = ".keychain"

    /// - Parameters:
    ///   - system: where the settings of the whole system are.
    ///   - owner: the user who owns them.
    ///   - shared: the user's folder for programs without a folder of the session.
    ///   - remark: why `shared` is not in memory.
    ///   - variable: the value of an environment variable; a program that has more rights than its user sees none.
    public init(
        system: String = "/etc/tokenkit", ownedBy owner: UInt32 = 0, shared: String? = nil, remark: String? = nil,
        variable: (String) -> String? = { Environment.variable($0) }
    ) {
        // The specification says to ignore a relative path in a variable.
        func path(_ name: String) -> String? { variable(name).flatMap { $0.hasPrefix("/") ? $0 : nil } }
        let home = path("HOME") ?? User.effective.home ?? "/"
        func base(_ name: String, _ standard: String) -> String { (path(name) ?? "\(home)/\(standard)") + "/tokenkit" }
        self.home = home
        data = base("XDG_DATA_HOME", ".local/share")
        configuration = base("XDG_CONFIG_HOME", ".config")
        cache = base("XDG_CACHE_HOME", ".cache")
        let session = path("XDG_RUNTIME_DIR").flatMap { OwnFile.isAnothers($0) ? nil : $0 }
        runtime = session ?? data
        volatile = session ?? shared
        volatileRemark = session == nil ? remark : nil
        (self.system, systemOwner) = (system, owner)
    }

    /// The folder of the user's settings of all programs: `$XDG_CONFIG_HOME`.
    public var userConfiguration: String { String(configuration.dropLast("/tokenkit".count)) }

    /// The folder for keychains.
    public var keychains: String { data + "/keychains" }

    /// The keychain that is unlocked at login, unless settings name another.
    public var loginKeychain: String { path(ofKeychain: "login") }

    /// The path of a keychain's file: a name without a slash is in ``keychains``, and one that starts with `~/` is
    /// below the home; anything else is the path.
    public func path(ofKeychain name: String) -> String {
        if name.hasPrefix("~/") { return home + name.dropFirst() }
        if name.isEmpty || name.contains("/") { return name }
        return keychains + "/" + (name.hasSuffix(Self.keychainSuffix) ? name : name + Self.keychainSuffix)
    }

    /// The name of a keychain in that file: the file's without folder and ending.
    public static func keychainName(ofFile path: String) -> String {
        let file = path.split(separator: "/").last ?? path[...]
        guard let dot = file.lastIndex(of: "."), dot != file.startIndex else { return String(file) }
        return String(file[..<dot])
    }

    /// A path as people read it, with `~` for their home.
    public func abbreviated(_ path: String) -> String {
        path.hasPrefix(home + "/") ? "~" + path.dropFirst(home.count) : path
    }
}
