package import HostAPI
internal import KeychainStore
package import Platform
internal import Synchronization

/// The place of decisions that hold for ever.
package protocol AccessPolicy: Sendable {
    func allows(_ program: ProgramID, to use: AccessQuestion.Use, _ item: AccessItem) -> Bool

    /// - Parameter use: nil for all uses.
    func allow(_ program: ProgramID, to use: AccessQuestion.Use?, _ item: AccessItem)

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
        let use: AccessQuestion.Use?
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

    package func allows(_ program: ProgramID, to use: AccessQuestion.Use, _ item: AccessItem) -> Bool {
        state.withLock { state in
            [use, nil].contains { state.allowed[Key(program: program, use: $0, item: item.keyInPlace)] != nil }
        }
    }

    package func allow(_ program: ProgramID, to use: AccessQuestion.Use?, _ item: AccessItem) {
        state.withLock { $0.allowed[Key(program: program, use: use, item: item.keyInPlace)] = true }
    }

    package var hasUnsaved: Bool { state.withLock { $0.allowed.count > 0 } }

    package func programAllowed(at path: String) -> ProgramID? { state.withLock { $0.programs[path] } }

    package func noteAllowed(_ program: ProgramID, at path: String) { state.withLock { $0.programs[path] = program } }
}

/// Keeps decisions about items of keychains in the keychains' files, and others for as long as the host's process runs.
package final class StoredAccess: AccessPolicy {
    private let files: SharedKeychains
    private let remembered = RememberedAccess()

    package init(in files: SharedKeychains) { self.files = files }

    package func allows(_ program: ProgramID, to use: AccessQuestion.Use, _ item: AccessItem) -> Bool {
        if remembered.allows(program, to: use, item) { return true }
        guard let keychain = files.unlocked(at: item.place) else { return false }
        return [use, nil].contains { keychain.has(AccessGrant(program, to: $0, item)) }
    }

    package func allow(_ program: ProgramID, to use: AccessQuestion.Use?, _ item: AccessItem) {
        if let keychain = files.unlocked(at: item.place),
            (try? keychain.add(AccessGrant(program, to: use, item))) != nil
        {
            return
        }
        remembered.allow(program, to: use, item)
    }

    package var hasUnsaved: Bool { remembered.hasUnsaved }
    package func programAllowed(at path: String) -> ProgramID? { remembered.programAllowed(at: path) }
    package func noteAllowed(_ program: ProgramID, at path: String) { remembered.noteAllowed(program, at: path) }
}

extension AccessGrant {
    fileprivate init(_ program: ProgramID, to use: AccessQuestion.Use?, _ item: AccessItem) {
        self.init(item: item.key, use: use?.storedNumber ?? 0, program: program.stored)
    }
}

extension AccessQuestion.Use {
    /// The number in keychain files, which never changes.
    fileprivate var storedNumber: Int64 {
        switch self {
        case .sign: 1
        case .decrypt: 2
        case .agree: 3
        case .read: 4
        case .export: 5
        }
    }
}

extension ProgramID {
    /// The program in keychain files: a number for the kind, and what tells it from others.
    fileprivate var stored: [UInt8] {
        switch self {
        case .path(let path): [1] + path.utf8
        case .digest(let digest): [2] + digest
        case .contained(.flatpak(let id), let digest): [3] + digest + id.utf8
        case .contained(.snap(let name), let digest): [4] + digest + name.utf8
        case .contained(.other, let digest): [5] + digest
        }
    }
}
