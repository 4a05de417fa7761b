package import KeychainModel
internal import Localization
package import Platform
internal import Glibc
internal import SecureBytes
internal import Synchronization

/// The program of a client, looked up when it first matters: most clients never use a key.
package final class AskingProgram: Sendable {
    private let handle: ProcessHandle?
    /// The user of the host.
    let user: UInt32
    private let known = Mutex<ProgramIdentity?>(nil)

    /// The name of the command, which does what its starter wants.
    private static let commandName = "tokenctl"

    /// - Parameters:
    ///   - handle: the process, made when its connection was accepted; nil where the kernel does not tell it.
    ///   - user: the user who must not be able to write a program that is known by its path.
    package init(_ handle: ProcessHandle?, user: UInt32 = geteuid()) {
        (self.handle, self.user) = (handle, user)
    }

    /// The program as decisions know it, after the same check as for ``identity()``.
    ///
    /// The command is not a program of its own: whatever calls it would have its rights. It counts as the programs that started it, in
    /// its session, while they run.
    func subject() throws(KeychainError) -> AccessSubject {
        let identity = try identity()
        guard identity.name == AskingProgram.commandName else {
            return AccessSubject(identity: identity, lasting: identity.id, runs: [identity.run], run: identity.run)
        }
        let chain = ProgramRun.chain(from: identity.run.process)
        return AccessSubject(
            identity: identity, lasting: nil, runs: chain, run: chain.dropFirst().first ?? chain.first ?? identity.run)
    }

    /// A program by the path of its file, as decisions know it when it runs.
    ///
    /// - Throws: `errSecParam` for a file that no lasting decision can hold for, with the reason.
    func program(at path: String) throws(KeychainError) -> DecidedProgram {
        let name = DisplayText.line(path)
        func refusal(_ reason: LocalizedText) -> KeychainError {
            KeychainError(.param, "no decision can be about '\(name)': \(reason)")
        }
        guard path.hasPrefix("/") else { throw refusal("it is no path from the root on") }
        let file: ProgramFile
        do throws(ProgramFile.Refusal) {
            file = try ProgramFile(at: path, user: user, digest: ExecutableDigests.shared.digest)
        } catch {
            switch error {
            case .absent(let error): throw refusal("\(error.reason)")
            case .notExecutable: throw refusal("it is no program")
            case .interpreter: throw refusal("it is an interpreter, which does what any script says")
            case .script: throw refusal("it is a script, and its interpreter does what any script says")
            case .inUserSpace: throw refusal("a program in user space provides its file system")
            case .unreadable: throw refusal("it cannot be read")
            }
        }
        guard file.path.split(separator: "/").last.map(String.init) != AskingProgram.commandName else {
            throw refusal("it does what any program that starts it wants, and counts as that")
        }
        return DecidedProgram(file.id, name: file.path)
    }

    /// The program that decisions may be about. Its file may be there no more.
    func formerProgram(at path: String) -> DecidedProgram {
        (try? program(at: path)) ?? DecidedProgram(.path(path), name: path)
    }

    /// The program, after a check that the process still runs it. Its content may have changed since the last look.
    ///
    /// - Throws: `errSecRestrictedAPI` where the process has ended, has executed another file since it connected, or cannot be seen.
    package func identity() throws(KeychainError) -> ProgramIdentity {
        guard let handle else {
            throw KeychainError(.restrictedAPI, "the host cannot see which program asks")
        }
        let digest = ExecutableDigests.shared.digest
        if let identity = known.withLock(\.self), identity.isSame(handle, digest: digest) { return identity }
        guard let identity = ProgramIdentity(of: handle, user: user, digest: digest) else {
            throw KeychainError(
                .restrictedAPI,
                handle.hasEnded
                    ? "the program that asks has ended"
                    : "the program that asks is another one than the one that connected")
        }
        known.withLock { $0 = identity }
        return identity
    }
}

/// A program as the one that decisions are about.
struct AccessSubject {
    let identity: ProgramIdentity
    /// The program whose lasting decisions hold; nil for one that has none.
    let lasting: ProgramID?
    /// The runs that it counts as: its own, or those of the programs that started it as well.
    let runs: [ProgramRun]
    /// The run that decisions for a time are noted for: its own, or that of the program that started it.
    let run: ProgramRun

    /// Whether a decision can hold for more than one use: for ever, or while the starter of the command runs.
    var mayBeAllowedAlways: Bool { lasting != nil || run != identity.run }
}
