internal import Glibc
internal import HostAPI
internal import KeychainModel
internal import Localization
internal import Platform
internal import SecureBytes
internal import Synchronization

/// Answers questions from a file descriptor, a file or the environment, a line each: for scripts. Lines end with a line
/// feed, or with a carriage return and a line feed.
///
/// No line ever agrees to spend the last try.
final class SecretSource: Prompter {
    /// The maximum length of one answer in bytes: secrets to be stored may come from here as well.
    static let maximumLength = Limits.secret

    private enum Origin: Sendable {
        case descriptor(Int32)
        /// A descriptor that was opened here.
        case file(Int32)
        case environment(String)
    }

    private let origin: Origin

    private struct Lines {
        var count = 0
        /// The first line, as long as it is kept for the keychain.
        var first: SharedSecret?
    }

    /// The source's name in errors.
    private let name: String

    /// The lines that have been read. Locked while one is read, so that two questions never share a line.
    private let lines = Mutex(Lines())

    /// - Parameters:
    ///   - text: `fd:N`, `file:PATH` or `env:NAME`.
    ///   - alternative: other ways to give the answers that the source lacks.
    ///   - isOpen: whether a descriptor may be used.
    /// - Throws: `errSecParam` for another form, a file that cannot be read, or one that others may read.
    init(
        _ text: String, alternative: String? = nil, isOpen: (Int32) -> Bool = SecretSource.isOpen
    ) throws(KeychainError) {
        self.alternative = alternative ?? String(localized: "give all answers in it, a line each")
        name = "'\(text)'"
        SecretSource.withhold(text)
        let parts = text.split(separator: ":", maxSplits: 1).map(String.init)
        switch (parts.first, parts.count == 2 ? parts[1] : "") {
        case ("fd", let number):
            guard let descriptor = Int32(number), isOpen(descriptor) else {
                throw KeychainError(.param, "there is no open file descriptor '\(number)'", key: "pin-source")
            }
            origin = .descriptor(descriptor)
        case ("file", let path):
            origin = .file(try SecretSource.open(path))
        case ("env", let name):
            guard Environment.withBytes(ofVariable: name, { _ in true }) != nil else {
                throw KeychainError(.param, "the environment has no variable '\(name)'", key: "pin-source")
            }
            origin = .environment(name)
        default:
            throw KeychainError(
                .param, "the value of --pin-source is not a source of PINs", remedy: "use fd:N, file:PATH or env:NAME",
                key: "pin-source")
        }
    }

    /// Hides a source from every program that is started from now on: descriptors are never inherited, a variable would
    /// be.
    static func withhold(_ text: String) {
        guard text.hasPrefix("env:") else { return }
        Environment.withhold(String(text.dropFirst("env:".count)))
    }

    deinit {
        if case .file(let descriptor) = origin { close(descriptor) }
    }

    /// Whether the descriptor is open in this process.
    static func isOpen(_ descriptor: Int32) -> Bool { fcntl(descriptor, F_GETFD) != -1 }

    var canAsk: Bool { true }
    var canAskAgain: Bool { false }
    let alternative: String

    /// The next line, or the first where it was kept.
    ///
    /// - Throws: `errSecInteractionNotAllowed` when there is none, `errSecDataTooLarge` for one that is too long.
    func ask(_ request: PromptRequest) throws(KeychainError) -> Secret {
        try lines.withLock { (lines) throws(KeychainError) in
            guard let first = lines.first else { return try next(&lines, for: request) }
            lines.first = nil
            return first.secret.clone()
        }
    }

    /// The next line after the first, which is kept for the keychain's password: the meaning of the others must not
    /// depend on whether the keychain is locked.
    ///
    /// - Throws: as ``ask(_:)``.
    func askForAnother(_ request: PromptRequest) throws(KeychainError) -> Secret {
        try lines.withLock { (lines) throws(KeychainError) in
            if lines.count == 0 { lines.first = SharedSecret(try next(&lines, for: SecretSource.ofKeychain)) }
            return try next(&lines, for: request)
        }
    }

    private static let ofKeychain = PromptRequest(.password, subject: String(localized: "the keychain"))

    private func next(_ lines: inout Lines, for request: PromptRequest) throws(KeychainError) -> Secret {
        let number = lines.count
        lines.count += 1
        let answer =
            switch origin {
            case .descriptor(let descriptor), .file(let descriptor): try SecretSource.line(from: descriptor)
            case .environment(let name): try SecretSource.line(number, ofVariable: name)
            }
        guard let answer else {
            throw KeychainError(
                .interactionNotAllowed,
                number == 0
                    ? "\(request.sentence) is needed, but \(name) has no line"
                    : "\(request.sentence) is needed, but \(name) has no line \(number + 1)",
                remedy: "put it into line \(number + 1)")
        }
        return answer
    }

    func confirm(_ question: String) throws(KeychainError) -> Bool { false }

    /// Messages go to the terminal, where a person may be: a touch cannot come from a file.
    func tell(_ message: String) { HostAccess.tell(message) }

    private static func open(_ path: String) throws(KeychainError) -> Int32 {
        let descriptor = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw KeychainError(.param, "cannot read '\(path)': \(SystemError().reason)", key: "pin-source")
        }
        var information = stat()
        guard unsafe fstat(descriptor, &information) == 0 else {
            close(descriptor)
            throw KeychainError(.param, "cannot read '\(path)': \(SystemError().reason)", key: "pin-source")
        }
        if information.st_mode & S_IFMT == S_IFDIR {
            close(descriptor)
            throw KeychainError(.param, "'\(path)' is a folder", remedy: "name a file in it", key: "pin-source")
        }
        if information.st_mode & S_IFMT == S_IFREG, information.st_mode & 0o077 != 0 {
            close(descriptor)
            throw KeychainError(
                .param, "other users may read '\(path)'", remedy: "chmod 600 '\(path)'", key: "pin-source")
        }
        return descriptor
    }

    /// Reads up to a line feed, a byte at a time: the rest belongs to the next question, or to another process.
    private static func line(from descriptor: Int32) throws(KeychainError) -> Secret? {
        var (isWhole, isAtEnd) = (false, false)
        var line = Secret(capacity: 0) { _ in }
        var capacity = 256
        while !isWhole {
            // Half an answer would only cost a try.
            guard line.count <= maximumLength else { throw overlong }
            let longer = Secret(capacity: capacity) { output in
                output.append(line.bytes)
                while output.freeCapacity > 0 {
                    var byte: UInt8 = 0
                    let count = unsafe read(descriptor, &byte, 1)
                    if count < 0 && errno == EINTR { continue }
                    isAtEnd = count != 1
                    isWhole = isAtEnd || byte == lineFeed
                    if isWhole { break }
                    output.append(byte)
                }
                if isWhole, !isAtEnd, output.count > 0, output.span[output.count - 1] == carriageReturn {
                    _ = output.removeLast()
                }
            }
            line = longer
            capacity = min(2 * capacity, maximumLength + 1)
        }
        if line.isEmpty && isAtEnd { return nil }
        return line
    }

    /// - Parameter number: 0 for the first line.
    private static func line(_ number: Int, ofVariable name: String) throws(KeychainError) -> Secret? {
        let line = try Environment.withBytes(ofVariable: name) { (value) throws(KeychainError) -> Secret? in
            func end(from start: Int) -> Int? { (start..<value.count).first { value[$0] == lineFeed } }
            var start = 0
            for _ in 0..<number {
                guard let feed = end(from: start) else { return nil }
                start = feed + 1
            }
            // A line feed at the end begins no further line.
            if start == value.count, number > 0 { return nil }
            var line = value.extracting(start..<(end(from: start) ?? value.count))
            let isFed = start + line.count < value.count
            if isFed, line.count > 0, line[line.count - 1] == carriageReturn { line = line.extracting(droppingLast: 1) }
            guard line.count <= maximumLength else { throw overlong }
            return Secret(copying: line)
        }
        switch consume line {
        case .some(let line): return line
        case .none: return nil
        }
    }

    private static let lineFeed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")

    private static let overlong = KeychainError(
        .dataTooLarge, "a secret may have \(maximumLength) bytes, and its line in the file or variable has more",
        remedy: "give each secret a line of its own", key: "pin-source")
}
