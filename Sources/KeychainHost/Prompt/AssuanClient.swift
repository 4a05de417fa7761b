internal import Glibc
internal import TokenKit

/// A program that speaks the Assuan protocol on its standard input and output: pinentry.
///
/// Every answer is a run of lines `D data`, `S status`, `# comment`, ended by `OK` or `ERR code text`.
final class AssuanClient {
    /// Bytes of a line, its line feed included (Assuan manual, "Server responses").
    static let maximumLineLength = 1002

    private let process: pid_t
    private let input: Int32
    private let output: Int32

    /// Starts the program and waits for its greeting.
    init(program: String) throws(KeychainError) {
        var descriptors: [Int32] = [-1, -1]
        // One socket pair serves both directions, and closing it ends the program.
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, kind, 0, &descriptors) == 0 else {
            throw KeychainError(.internalComponent, "no socket for \(program): \(systemMessage(errno))")
        }
        let (ours, theirs) = (descriptors[0], descriptors[1])
        var child: pid_t = 0
        let result = AssuanClient.spawn(&child, program, connectedTo: theirs)
        close(theirs)
        guard result == 0 else {
            close(ours)
            throw KeychainError(.notAvailable, "cannot start \(program): \(systemMessage(result))")
        }
        (process, input, output) = (child, ours, ours)
        do { _ = try answer() } catch {
            end()
            throw error
        }
    }

    private static func spawn(_ child: inout pid_t, _ program: String, connectedTo socket: Int32) -> Int32 {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, socket, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, socket, 1)
        return unsafe program.withCString { name in
            var arguments = unsafe [UnsafeMutablePointer(mutating: name), nil]
            return unsafe posix_spawnp(&child, name, &actions, nil, &arguments, environ)
        }
    }

    /// Ends the program.
    func end() {
        try? write(Array("BYE\n".utf8))
        close(output)
        var status: Int32 = 0
        while unsafe waitpid(process, &status, 0) == -1 && errno == EINTR {}
    }

    /// Sends a command whose answer carries no data.
    func command(_ name: String, _ argument: String? = nil) throws(KeychainError) {
        try write(Array(name.utf8) + (argument.map { [0x20] + AssuanClient.escaped($0) } ?? []) + [0x0A])
        _ = try answer()
    }

    /// Sends a command that is answered with a secret.
    func secret(_ name: String) throws(KeychainError) -> Secret {
        try write(Array(name.utf8) + [0x0A])
        return try answer()
    }

    /// Reads to the end of an answer and returns its data, percent-decoded.
    private func answer() throws(KeychainError) -> Secret {
        try Secret(capacity: AssuanClient.maximumLineLength) { (data) throws(KeychainError) in
            while true {
                let line = try readLine()
                let bytes = line.bytes
                if AssuanClient.starts(bytes, with: "OK") { return }
                if AssuanClient.starts(bytes, with: "ERR ") { throw AssuanClient.error(bytes) }
                guard AssuanClient.starts(bytes, with: "D ") else { continue }
                AssuanClient.decode(bytes, from: 2, into: &data)
            }
        }
    }

    private func readLine() throws(KeychainError) -> Secret {
        try Secret(capacity: AssuanClient.maximumLineLength) { (line) throws(KeychainError) in
            while true {
                var byte: UInt8 = 0
                let count = unsafe read(output, &byte, 1)
                if count < 0 && errno == EINTR { continue }
                guard count == 1 else { throw KeychainError(.notAvailable, "the PIN entry program ended early") }
                if byte == 0x0A { return }
                guard line.freeCapacity > 0 else {
                    throw KeychainError(.notAvailable, "the PIN entry program sent an overlong line")
                }
                line.append(byte)
            }
        }
    }

    private func write(_ bytes: [UInt8]) throws(KeychainError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes {
                unsafe send(input, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw KeychainError(.notAvailable, "the PIN entry program ended early") }
            rest = rest.dropFirst(count)
        }
    }

    private static func starts(_ line: Span<UInt8>, with text: StaticString) -> Bool {
        let prefix = Array(text.description.utf8)
        guard line.count >= prefix.count else { return false }
        return prefix.indices.allSatisfy { line[$0] == prefix[$0] }
    }

    private static func decode(_ line: Span<UInt8>, from start: Int, into data: inout OutputSpan<UInt8>) {
        var index = start
        while index < line.count, data.freeCapacity > 0 {
            if line[index] == UInt8(ascii: "%"), index + 2 < line.count,
                let byte = Hex.decode(String(decoding: [line[index + 1], line[index + 2]], as: UTF8.self))?.first
            {
                data.append(byte)
                index += 3
            } else {
                data.append(line[index])
                index += 1
            }
        }
    }

    static func escaped(_ text: String) -> [UInt8] {
        text.utf8.flatMap { byte in
            byte < 0x20 || byte == UInt8(ascii: "%") ? Array("%\(Hex.encode([byte]))".utf8) : [byte]
        }
    }

    /// The numbers carry GnuPG's error source in their upper half; the code is in the lower 16 bits.
    private static func error(_ line: Span<UInt8>) -> KeychainError {
        var digits: [UInt8] = []
        for index in 4..<line.count {
            guard (0x30...0x39).contains(line[index]) else { break }
            digits.append(line[index])
        }
        let number = UInt32(String(decoding: digits, as: UTF8.self)) ?? 0
        switch number & 0xFFFF {
        case 99, 114, 62: return .canceled
        default: return KeychainError(.notAvailable, "the PIN entry program failed with error \(number & 0xFFFF)")
        }
    }
}
