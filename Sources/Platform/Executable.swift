internal import Glibc

/// The executable file of a process, as the kernel tells it: `exe` of proc(5). The process has no influence on it.
public enum Executable {
    /// The path of the file, or that it had before an upgrade replaced it; empty where it cannot be seen.
    public static func path(of process: Int32) -> String { path(link: link(of: process)) }

    static func path(link: String) -> String {
        link.hasSuffix(deletion) ? String(link.dropLast(deletion.count)) : link
    }

    /// The path with the kernel's mark of a deleted file, which may also be the end of a file's name.
    static func link(of process: Int32) -> String {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlink("/proc/\(process)/exe", &target, target.count)
        return String(decoding: target.prefix(max(count, 0)).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// The mark that the kernel appends to the path of a file that was deleted or replaced: proc(5).
    private static let deletion = " (deleted)"

    /// The name of the file; empty where it cannot be seen.
    public static func name(of process: Int32) -> String {
        path(of: process).split(separator: "/").last.map(String.init) ?? ""
    }

    /// The words by which the program was started, as it shows them itself, with spaces between; empty where they cannot be seen.
    package static func commandLine(of process: Int32) -> String {
        let words = (KernelFile.bytes("/proc/\(process)/cmdline") ?? []).split(separator: 0)
        return words.map { String(decoding: $0, as: UTF8.self) }.joined(separator: " ")
    }
}
