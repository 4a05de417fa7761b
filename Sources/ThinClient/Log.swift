internal import CThinClient

/// The log that `TOKENKIT_DEBUG` asks for: the results of calls, and their reasons.
///
/// The variable is read at the initialisation. It names a file to append to, by a path with a slash; any other value but `0` stands for standard error. The
/// host's lines never contain a PIN, a key or decrypted data.
struct Log {
    let name: StaticString
    var isAnswered = false

    init(_ name: StaticString) {
        self.name = name
    }

    /// Nil where no log is wanted.
    static var path: UnsafePointer<CChar>? { unsafe tokenkit_log_path() }

    /// - Parameters:
    ///   - isLast: whether the line is about the call's result, and begins with the function's name.
    ///   - body: appends the text of the line.
    func write(to path: UnsafePointer<CChar>, isLast: Bool, _ body: (inout [UInt8]) -> Void) {
        var (seconds, milliseconds): (Int64, Int64) = (0, 0)
        unsafe tokenkit_time(&seconds, &milliseconds)
        var line: [UInt8] = []
        line.append(Client.logName)
        line.append(decimal: UInt64(UInt32(bitPattern: getpid())))
        line.append("] ")
        line.append(decimal: UInt64(seconds))
        line.append(milliseconds < 10 ? ".00" : milliseconds < 100 ? ".0" : ".")
        line.append(decimal: UInt64(milliseconds))
        line.append(" ")
        if isLast {
            line.append(name: name)
            line.append(Client.nameEnd)
        }
        body(&line)
        line.append("\n")
        unsafe line.withUnsafeBytes { unsafe tokenkit_log(path, $0.baseAddress, $0.count) }
    }
}
