internal import Glibc

/// The kernel's short files about itself and about processes, proc(5).
enum KernelFile {
    /// The text of a file; nil where it cannot be read.
    static func text(_ path: String) -> String? {
        bytes(path).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// The first bytes of a file; nil where it cannot be read.
    static func bytes(_ path: String, limit: Int = 4096) -> [UInt8]? {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: limit)
        let count = unsafe read(file, &bytes, bytes.count)
        return count < 0 ? nil : Array(bytes.prefix(count))
    }

    /// Whether `/proc` shows the processes by the numbers that this process knows them by. In a PID namespace without a `/proc` of its
    /// own, a number there is another process. pid_namespaces(7).
    static let showsOwnNumbers: Bool = {
        var target = [CChar](repeating: 0, count: 32)
        let count = unsafe readlink("/proc/self", &target, target.count)
        return target.prefix(max(count, 0)).elementsEqual("\(getpid())".utf8.map { CChar(bitPattern: $0) })
    }()
}
