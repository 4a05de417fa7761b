import Foundation
import TestSupport
import Testing

@testable import Platform

/// A process of a test, which ends with it.
final class RunningProgram {
    let handle: ProcessHandle
    private let child: ChildProcess

    /// - Parameters:
    ///   - command: the program and its arguments.
    ///   - name: the name of the file that the process runs at last.
    init(_ command: [String], running name: String) throws {
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(null) }
        child = try ChildProcess(command, streams: [null, null, null])
        let process = child.identifier
        try #require(
            eventually { Executable.name(of: process) == name }, "\(command) runs \(Executable.path(of: process))")
        handle = try #require(ProcessHandle(process))
    }

    deinit { end() }

    private var hasEnded = false

    func end() {
        guard !hasEnded else { return }
        hasEnded = true
        kill(child.identifier, SIGKILL)
        child.wait()
    }

    /// The identity, where the programs of the system are not the user's.
    var identity: ProgramIdentity {
        get throws { try #require(ProgramIdentity(of: handle, user: Self.user, digest: Self.digest)) }
    }

    func isSame(_ identity: ProgramIdentity) -> Bool { identity.isSame(handle, digest: Self.digest) }

    static let user = geteuid() == 0 ? 65_534 : geteuid()

    /// The command that runs another one as root of a mount namespace.
    static let inMountNamespace = ["unshare"] + (geteuid() == 0 ? [] : ["--user", "--map-root-user"]) + ["--mount"]

    /// Not the digest that the host has, but one that tells these files apart: FNV-1a.
    static func digest(_ file: borrowing OpenExecutable) -> [UInt8]? {
        file.withContent { descriptor in
            guard let bytes = try? Descriptor.read(descriptor, limit: 1 << 26) else { return nil }
            let value = bytes.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
            return (0..<8).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
        }
    }

    /// The path of `sleep`, without links.
    static let sleep = resolvedPath(Environment.program("sleep") ?? "") ?? ""

    /// A copy of `sleep` that belongs to the user, made by another process: see `TemporaryFolder.writeProgram`.
    ///
    /// - Parameter addition: what is appended to the file, which does not change what it does.
    static func copySleep(to path: String, adding addition: String = "") throws {
        let script =
            "cp \"$0\" \"$1.new\" && printf %s \"$2\" >>\"$1.new\" && chmod 755 \"$1.new\" && chown \"$3\" \"$1.new\" && mv \"$1.new\" \"$1\""
        let result = try Program.run(["sh", "-c", script, sleep, path, addition, "\(user)"])
        try #require(result.status == 0, "\(result)")
    }
}
