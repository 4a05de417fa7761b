internal import Glibc

/// The kernel's short files about itself and this process, proc(5).
enum KernelFile {
    /// The text of a file; nil where it cannot be read.
    static func text(_ path: String) -> String? {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = unsafe read(file, &bytes, bytes.count)
        return count < 0 ? nil : String(validating: bytes.prefix(count), as: UTF8.self)
    }
}
