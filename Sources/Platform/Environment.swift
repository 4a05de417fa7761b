internal import CLinux
internal import Glibc
internal import Synchronization

/// The environment of this process.
public enum Environment {
    /// Whether this process has more rights than its caller, as a setuid program has: AT_SECURE, getauxval(3). Its
    /// environment is not trusted then.
    public static var isUntrusted: Bool { clinux_is_secure() != 0 }

    /// The value of a variable; nil in a process that has more rights than its caller. Wraps `secure_getenv`.
    public static func variable(_ name: String) -> String? {
        unsafe clinux_getenv(name).flatMap { unsafe String(validatingCString: $0) }
    }

    /// Calls `body` with the bytes of a variable's value, which need not be UTF-8 and of which no copy is made; nil as for
    /// ``variable(_:)``.
    public static func withBytes<Result: ~Copyable, Failure>(
        ofVariable name: String, _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard let text = unsafe clinux_getenv(name) else { return nil }
        let bytes = unsafe UnsafeRawPointer(text).assumingMemoryBound(to: UInt8.self)
        return try body(unsafe Span(_unsafeStart: bytes, count: strlen(text)))
    }

    private static let withheld = Mutex<Set<String>>([])

    /// Keeps a variable from every program that is started from now on, such as one with a secret.
    public static func withhold(_ name: String) {
        withheld.withLock { _ = $0.insert(name) }
    }

    /// All variables that are not withheld, each as `NAME=value`, for programs with unknown needs.
    public static var all: [String] { bytes.map { String(decoding: $0, as: UTF8.self) } }

    /// All variables that are not withheld, each as `NAME=value`. They need not be UTF-8.
    package static var bytes: [[UInt8]] {
        guard !isUntrusted else { return [] }
        let withheld = withheld.withLock { $0.map { Array("\($0)=".utf8) } }
        var variables: [[UInt8]] = []
        var next = unsafe environ
        while let variable = unsafe next.pointee {
            unsafe next += 1
            let text = unsafe UnsafeRawBufferPointer(start: variable, count: strlen(variable))
            let bytes = unsafe Array(text)
            if !withheld.contains(where: bytes.starts(with:)) { variables.append(bytes) }
        }
        return variables
    }

    /// The variables that a program needs to ask a person, as pinentry does: the person's terminal or display, language and
    /// appearance.
    public static var ofPerson: [String: String] {
        guard !isUntrusted else { return [:] }
        let withheld = withheld.withLock { $0 }
        return Dictionary(pairs.filter { !withheld.contains($0.name) && isOfPerson($0.name) }) { first, _ in first }
    }

    /// Whether a variable says where and how a person can be asked.
    public static func isOfPerson(_ name: String) -> Bool {
        namesOfPerson.contains(name) || prefixesOfPerson.contains { name.hasPrefix($0) }
    }

    private static let namesOfPerson: Set = [
        "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TERM", "COLORTERM", "GPG_TTY", "DISPLAY", "WAYLAND_DISPLAY",
        "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "DESKTOP_SESSION", "PINENTRY_USER_DATA", "INSIDE_EMACS",
    ]
    /// Toolkits have their own variables for themes and input methods.
    private static let prefixesOfPerson = ["LC_", "XDG_", "GTK_", "QT_", "KDE_", "GDK_", "XCURSOR_"]

    private static var pairs: [(name: String, value: String)] {
        var pairs: [(name: String, value: String)] = []
        var next = unsafe environ
        while let variable = unsafe next.pointee {
            unsafe next += 1
            let text = unsafe String(cString: variable)
            guard let end = text.firstIndex(of: "="), end != text.startIndex else { continue }
            pairs.append((String(text[..<end]), String(text[text.index(after: end)...])))
        }
        return pairs
    }

    // MARK: Programs

    /// The folders of programs for a process that has no PATH, or must not trust it.
    public static let standardPath = "/usr/local/bin:/usr/bin:/bin"

    /// The file of a program.
    ///
    /// - Parameter name: a name that is looked up in the absolute folders of `PATH`, or the absolute path of the file.
    /// - Returns: nil where there is no executable file.
    public static func program(_ name: String) -> String? {
        if name.contains("/") { return name.hasPrefix("/") && isExecutable(name) ? name : nil }
        guard !name.isEmpty else { return nil }
        let folders = (variable("PATH") ?? standardPath).split(separator: ":").filter { $0.hasPrefix("/") }
        return folders.lazy.map { "\($0)/\(name)" }.first(where: isExecutable)
    }

    private static func isExecutable(_ path: String) -> Bool {
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
        return unsafe faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0
    }
}
