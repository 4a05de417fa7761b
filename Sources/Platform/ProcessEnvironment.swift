/// The environment with which another process of this user was started: `environ` of proc(5). The process can have changed what is there.
package enum ProcessEnvironment {
    private static let maximumLength = 1 << 20

    /// The variables of a process; none where they cannot be seen, or the process has ended or runs another program by now.
    package static func variables(of handle: ProcessHandle) -> [String: String] {
        guard KernelFile.showsOwnNumbers,
            let bytes = KernelFile.bytes("/proc/\(handle.process)/environ", limit: maximumLength),
            handle.runsSameProgram
        else { return [:] }
        var variables: [String: String] = [:]
        for variable in bytes.split(separator: 0) {
            let parts = variable.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let name = String(validating: parts[0], as: UTF8.self) else { continue }
            variables[name] = String(decoding: parts[1], as: UTF8.self)
        }
        return variables
    }
}
