package import HostAPI
package import Platform
internal import Synchronization

/// The place of decisions that hold for ever.
package protocol AccessPolicy: Sendable {
    func allows(_ program: ProgramID, to use: AccessQuestion.Use, _ item: String) -> Bool
    func allow(_ program: ProgramID, to use: AccessQuestion.Use, _ item: String)

    /// Whether there is a decision that would be lost with the process.
    var hasUnsaved: Bool { get }

    /// The program that a person last allowed anything of those that called themselves by this path; nil for none.
    func programAllowed(at path: String) -> ProgramID?
    func noteAllowed(_ program: ProgramID, at path: String)
}

/// Keeps decisions for as long as the host's process runs, and the latest of them where there are many.
package final class RememberedAccess: AccessPolicy {
    private struct Key: Hashable {
        let program: ProgramID
        let use: AccessQuestion.Use
        let item: String
    }

    private struct State {
        var allowed: RecentEntries<Key, Bool>
        var programs: RecentEntries<String, ProgramID>
    }

    private let state: Mutex<State>

    package init(limit: Int = 1024) {
        state = Mutex(State(allowed: RecentEntries(limit: limit), programs: RecentEntries(limit: limit)))
    }

    package func allows(_ program: ProgramID, to use: AccessQuestion.Use, _ item: String) -> Bool {
        state.withLock { $0.allowed[Key(program: program, use: use, item: item)] ?? false }
    }

    package func allow(_ program: ProgramID, to use: AccessQuestion.Use, _ item: String) {
        state.withLock { $0.allowed[Key(program: program, use: use, item: item)] = true }
    }

    package var hasUnsaved: Bool { state.withLock { $0.allowed.count > 0 } }

    package func programAllowed(at path: String) -> ProgramID? { state.withLock { $0.programs[path] } }

    package func noteAllowed(_ program: ProgramID, at path: String) { state.withLock { $0.programs[path] = program } }
}
