/// A process as the kernel describes it: `stat` of proc(5).
package struct ProcessStatus: Hashable, Sendable {
    /// The name that the process gives itself, at first that of its program's file.
    package let name: String
    package let parent: Int32
    package let group: Int32
    /// The number of the session, setsid(2): that of the process that began it.
    package let session: Int32
    /// The device number of the controlling terminal; 0 for none.
    package let terminal: UInt32
    /// The process group in the terminal's foreground.
    package let foregroundGroup: Int32
    /// The time of the process's start, in clock ticks since the machine's start. It differs between two processes with one number.
    package let startTime: UInt64

    /// - Returns: nil where there is no such process.
    package init?(of process: Int32) {
        guard let bytes = KernelFile.bytes("/proc/\(process)/stat", limit: 1024) else { return nil }
        self.init(parsing: String(decoding: bytes, as: UTF8.self))
    }

    init?(parsing text: String) {
        // The name, in brackets, may have anything in it.
        guard let start = text.firstIndex(of: "("), let end = text.lastIndex(of: ")"), start < end else { return nil }
        let fields = text[text.index(after: end)...].split(separator: " ")
        guard fields.count > 19, let parent = Int32(fields[1]), let group = Int32(fields[2]),
            let session = Int32(fields[3]), let terminal = Int32(fields[4]), let foregroundGroup = Int32(fields[5]),
            let startTime = UInt64(fields[19])
        else { return nil }
        name = String(text[text.index(after: start)..<end])
        (self.parent, self.group, self.session) = (parent, group, session)
        self.foregroundGroup = foregroundGroup
        self.terminal = UInt32(bitPattern: terminal)
        self.startTime = startTime
    }
}
