package import HostAPI
package import KeychainModel
internal import KeychainStore
internal import Localization
package import Platform
internal import SecureBytes
internal import Synchronization

/// The program of a lasting decision.
package struct DecidedProgram: Sendable, Hashable {
    /// Nil for any program.
    package let id: ProgramID?
    /// The path of its file, for people.
    package let name: String

    package init(_ id: ProgramID, name: String) { (self.id, self.name) = (id, name) }

    private init() { (id, name) = (nil, "") }

    /// Any program, also one for which else no lasting decision holds.
    package static let any = DecidedProgram()
}

/// A decision about an item.
package struct ItemDecision: Sendable, Hashable {
    package let program: DecidedProgram
    /// Nil for all uses.
    package let use: AccessQuestion.Use?
    package let isAllowed: Bool

    package init(_ program: DecidedProgram, to use: AccessQuestion.Use?, isAllowed: Bool = true) {
        (self.program, self.use, self.isAllowed) = (program, use, isAllowed)
    }

    /// Whether all that the other decision allows is allowed by this one.
    func covers(_ other: ItemDecision) -> Bool {
        isAllowed && (program.id == nil || program.id == other.program.id) && (use == nil || use == other.use)
    }
}

/// The place of decisions that hold for ever.
package protocol AccessPolicy: Sendable {
    /// Whether a program may use an item; nil without a decision. A denial goes before what is allowed.
    ///
    /// - Parameter program: nil for one that only decisions about any program are about.
    func decision(on program: ProgramID?, to use: AccessQuestion.Use, _ item: AccessItem) -> Bool?

    /// Notes a decision. One for all uses replaces those for single ones.
    ///
    /// - Parameter use: nil for all uses.
    func decide(_ isAllowed: Bool, _ program: DecidedProgram, to use: AccessQuestion.Use?, _ item: AccessItem)

    /// Forgets the decisions that are all of these.
    ///
    /// - Parameters:
    ///   - item: nil for decisions about each one.
    ///   - program: nil for decisions about each one.
    /// - Returns: their number.
    func forget(item: AccessItem?, program: DecidedProgram?) throws(KeychainError) -> Int

    /// The decisions about an item, the oldest first.
    ///
    /// - Throws: `errSecInteractionNotAllowed` where the item's keychain is locked.
    func decisions(about item: AccessItem) throws(KeychainError) -> [ItemDecision]

    /// Puts decisions that allow programs an item in the place of those before, as a whole. Denials stay.
    ///
    /// - Throws: `errSecInteractionNotAllowed` as ``decisions(about:)``, `errSecReadOnly`; nothing is changed then.
    func replaceAllowed(_ item: AccessItem, with allowed: [ItemDecision]) throws(KeychainError)

    /// The decisions that end with the process, the oldest first.
    var unsaved: [AccessEntry] { get }

    /// The program that a person last allowed anything of those that called themselves by this path; nil for none.
    func programAllowed(at path: String) -> ProgramID?
    func noteAllowed(_ program: ProgramID, at path: String)
}

extension AccessPolicy {
    /// Whether there is a decision that would be lost with the process.
    var hasUnsaved: Bool { !unsaved.isEmpty }
}

/// Keeps decisions for as long as the host's process runs, and the latest of them where there are many.
package final class RememberedAccess: AccessPolicy {
    private struct Key: Hashable {
        let program: ProgramID?
        let use: AccessQuestion.Use?
        let item: String
    }

    private struct Decision {
        let isAllowed: Bool
        let program: DecidedProgram
        let item: String
    }

    private struct State {
        var decisions: RecentEntries<Key, Decision>
        var programs: RecentEntries<String, ProgramID>
    }

    private let state: Mutex<State>

    package init(limit: Int = 1024) {
        state = Mutex(State(decisions: RecentEntries(limit: limit), programs: RecentEntries(limit: limit)))
    }

    package func decision(on program: ProgramID?, to use: AccessQuestion.Use, _ item: AccessItem) -> Bool? {
        state.withLock { state in
            AccessQuestion.Use.decision(use, program) { program, use in
                state.decisions[Key(program: program, use: use, item: item.keyInPlace)]?.isAllowed
            }
        }
    }

    package func decide(
        _ isAllowed: Bool, _ program: DecidedProgram, to use: AccessQuestion.Use?, _ item: AccessItem
    ) {
        func key(_ use: AccessQuestion.Use?) -> Key { Key(program: program.id, use: use, item: item.keyInPlace) }
        state.withLock { state in
            if use == nil { for use in AccessQuestion.Use.allCases { state.decisions[key(use)] = nil } }
            state.decisions[key(use)] = Decision(isAllowed: isAllowed, program: program, item: item.name)
        }
    }

    package func decisions(about item: AccessItem) -> [ItemDecision] {
        state.withLock { state in
            state.decisions.entries.filter { $0.key.item == item.keyInPlace }.map { key, decision in
                ItemDecision(decision.program, to: key.use, isAllowed: decision.isAllowed)
            }
        }
    }

    package func replaceAllowed(_ item: AccessItem, with allowed: [ItemDecision]) {
        state.withLock { state in
            state.decisions.removeAll { key, decision in key.item == item.keyInPlace && decision.isAllowed }
            for decision in allowed {
                let key = Key(program: decision.program.id, use: decision.use, item: item.keyInPlace)
                guard state.decisions[key] == nil else { continue }
                state.decisions[key] = Decision(isAllowed: true, program: decision.program, item: item.name)
            }
        }
    }

    package func forget(item: AccessItem?, program: DecidedProgram?) -> Int {
        state.withLock { state in
            let former = state.decisions.count
            state.decisions.removeAll { key, decision in
                (item == nil || item?.keyInPlace == key.item)
                    && (program == nil || program?.isSame(key.program, name: decision.program.name) == true)
            }
            return former - state.decisions.count
        }
    }

    package var unsaved: [AccessEntry] {
        state.withLock { state in
            state.decisions.entries.map { key, decision in
                AccessEntry(
                    item: decision.item, reference: nil, program: key.program == nil ? nil : decision.program.name,
                    use: key.use, isAllowed: decision.isAllowed, isLasting: false)
            }
        }
    }

    package func programAllowed(at path: String) -> ProgramID? { state.withLock { $0.programs[path] } }

    package func noteAllowed(_ program: ProgramID, at path: String) { state.withLock { $0.programs[path] = program } }
}

extension AccessQuestion.Use {
    /// The decision for a use among those that `found` knows of the program and of any, for the use and for all. Those about any program are
    /// not about machines.
    fileprivate static func decision(
        _ use: Self, _ program: ProgramID?, _ found: (ProgramID?, Self?) -> Bool?
    ) -> Bool? {
        let programs: [ProgramID?] =
            switch program {
            case nil, .machine: [program]
            default: [program, nil]
            }
        let decisions = programs.flatMap { program in [use, nil].compactMap { found(program, $0) } }
        return decisions.isEmpty ? nil : decisions.allSatisfy(\.self)
    }
}

extension DecidedProgram {
    /// Whether a decision is about this program: by what tells it from others, or by its name, since its file may have changed.
    fileprivate func isSame(_ id: ProgramID?, name: String) -> Bool {
        id == self.id || id != nil && self.id != nil && name == self.name
    }

    fileprivate func isSame(_ decision: StoredDecision) -> Bool {
        decision.subject.program == id.stored
            || id != nil && decision.subject.program != ProgramID?.none.stored && decision.name == name
    }
}

// MARK: Decisions in keychains

/// Keeps decisions about items of keychains in the keychains' files, those about keys of tokens in the login keychain, and all that these cannot
/// take in for as long as the host's process runs.
package final class StoredAccess: AccessPolicy {
    private let files: SharedKeychains
    private let login: @Sendable () -> String?
    private let remembered = RememberedAccess()

    /// - Parameter login: tells the path of the login keychain.
    package init(in files: SharedKeychains, login: @escaping @Sendable () -> String? = { nil }) {
        (self.files, self.login) = (files, login)
    }

    package func decision(on program: ProgramID?, to use: AccessQuestion.Use, _ item: AccessItem) -> Bool? {
        let remembered = remembered.decision(on: program, to: use, item)
        guard remembered != false, let keychain = keeper(of: item) else { return remembered }
        let stored = AccessQuestion.Use.decision(use, program) { program, use in
            keychain.decision(on: StoredDecision.Subject(program, to: use, item))
        }
        return stored ?? remembered
    }

    package func decide(
        _ isAllowed: Bool, _ program: DecidedProgram, to use: AccessQuestion.Use?, _ item: AccessItem
    ) {
        if let keychain = keeper(of: item) {
            let others = use == nil ? AccessQuestion.Use.allCases : []
            let isStored: Void? = try? keychain.change(
                adding: [StoredDecision(isAllowed, program, to: use, item)],
                removing: others.map { StoredDecision.Subject(program.id, to: $0, item) })
            if isStored != nil {
                // One that the file could not take in before.
                _ = remembered.forget(item: item, program: program)
                return
            }
        }
        remembered.decide(isAllowed, program, to: use, item)
    }

    package func forget(item: AccessItem?, program: DecidedProgram?) throws(KeychainError) -> Int {
        var count = remembered.forget(item: item, program: program)
        for keychain in item.map({ [keeper(of: $0)].compactMap(\.self) }) ?? files.allUnlocked {
            let forgotten = try keychain.decisions().filter { decision in
                (item == nil || item?.keptKey == decision.subject.item) && program?.isSame(decision) ?? true
            }
            guard !forgotten.isEmpty else { continue }
            try keychain.change(adding: [], removing: forgotten.map(\.subject))
            count += forgotten.count
        }
        return count
    }

    package func decisions(about item: AccessItem) throws(KeychainError) -> [ItemDecision] {
        guard let keychain = try keychain(of: item) else { return remembered.decisions(about: item) }
        let stored = try keychain.decisions().compactMap { (decision) -> ItemDecision? in
            guard decision.subject.item == item.keptKey, let use = AccessQuestion.Use?(stored: decision.subject.use),
                let program = DecidedProgram(decision)
            else { return nil }
            return ItemDecision(program, to: use, isAllowed: decision.isAllowed)
        }
        return stored + remembered.decisions(about: item)
    }

    package func replaceAllowed(_ item: AccessItem, with allowed: [ItemDecision]) throws(KeychainError) {
        guard let keychain = try keychain(of: item) else { return remembered.replaceAllowed(item, with: allowed) }
        try keychain.replaceAllowed(
            of: item.keptKey, with: allowed.map { StoredDecision(true, $0.program, to: $0.use, item) })
        remembered.replaceAllowed(item, with: [])
    }

    /// The keychain that keeps the decisions about an item; nil for a key of a token whose decisions end with the process.
    ///
    /// - Throws: `errSecInteractionNotAllowed` where the item's own is locked, or has been unlocked with another key since.
    private func keychain(of item: AccessItem) throws(KeychainError) -> LocalKeychain? {
        if let keychain = keeper(of: item) { return keychain }
        guard item.keeper == .own else { return nil }
        throw KeychainError(.interactionNotAllowed, "the keychain was locked meanwhile")
    }

    /// The keychain that keeps the decisions about an item, where it is unlocked. What is in one without a password, any program of the user could
    /// have written.
    private func keeper(of item: AccessItem) -> LocalKeychain? {
        switch item.keeper {
        case .own: files.unlocked(at: item.place)
        case .login: login().flatMap { files.unlocked(inFile: $0) }.flatMap { (try? $0.hasPassword) == true ? $0 : nil }
        case .none: nil
        }
    }

    package var unsaved: [AccessEntry] { remembered.unsaved }
    package func programAllowed(at path: String) -> ProgramID? { remembered.programAllowed(at: path) }
    package func noteAllowed(_ program: ProgramID, at path: String) { remembered.noteAllowed(program, at: path) }
}

extension LocalKeychain {
    /// The decisions about the keychain's items, for people; none while it is locked.
    func accessEntries() throws(KeychainError) -> [AccessEntry] {
        var entries: [AccessEntry] = []
        var names: [String: String] = [:]
        for decision in try decisions() {
            let key = decision.subject.item
            let reference = Hex.decode(key).flatMap { try? PersistentReference(parsing: $0) }
            let known = decision.itemName ?? names[key]
            let found =
                if known == nil, let reference { try items(matching: Query(reference)).found.first } else { Item?.none }
            guard let name = known ?? found.map({ AccessItem($0, in: self).name }) else { continue }
            names[key] = name
            entries.append(
                AccessEntry(
                    item: name, reference: reference,
                    program: decision.subject.program == ProgramID?.none.stored ? nil : decision.name,
                    use: AccessQuestion.Use(rawValue: UInt8(clamping: decision.subject.use)),
                    isAllowed: decision.isAllowed, isLasting: true))
        }
        return entries
    }
}

extension StoredDecision.Subject {
    fileprivate init(_ program: ProgramID?, to use: AccessQuestion.Use?, _ item: AccessItem) {
        self.init(item: item.keptKey, use: use.map { Int64($0.rawValue) } ?? 0, program: program.stored)
    }
}

extension StoredDecision {
    fileprivate init(
        _ isAllowed: Bool, _ program: DecidedProgram, to use: AccessQuestion.Use?, _ item: AccessItem
    ) {
        self.init(
            Subject(program.id, to: use, item), isAllowed: isAllowed, name: program.name,
            itemName: item.keeper == .own ? nil : item.name)
    }
}

extension AccessQuestion.Use? {
    /// - Parameter number: of a decision in a keychain file; 0 for all uses.
    /// - Returns: nil for a use that this program does not know.
    fileprivate init?(stored number: Int64) {
        guard number != 0 else {
            self = .none
            return
        }
        guard let use = UInt8(exactly: number).flatMap(AccessQuestion.Use.init) else { return nil }
        self = use
    }
}

extension DecidedProgram {
    /// - Returns: nil for a kind of program that this program does not know.
    fileprivate init?(_ decision: StoredDecision) {
        guard let id = ProgramID?(stored: decision.subject.program) else { return nil }
        self = id.map { DecidedProgram($0, name: decision.name) } ?? .any
    }

    /// The bytes that tell the program from others, in keychain files and for clients.
    var identity: [UInt8] { id.stored }
}

extension ProgramID? {
    /// - Parameter bytes: of a decision in a keychain file.
    /// - Returns: nil for bytes that ``stored`` never gives.
    fileprivate init?(stored bytes: [UInt8]) {
        let content = bytes.dropFirst()
        let digest = Array(content.prefix(Self.digestLength))
        func text(_ bytes: ArraySlice<UInt8>) -> String? { String(validating: bytes, as: UTF8.self) }
        let name = text(content.dropFirst(Self.digestLength))
        let id: ProgramID? =
            switch bytes.first {
            case 1: text(content).map { .path($0) }
            case 2: .digest(digest)
            case 3: name.map { .contained(.flatpak($0), digest: digest) }
            case 4: name.map { .contained(.snap($0), digest: digest) }
            case 5: .contained(.other, digest: digest)
            case 6: text(content).map { .machine($0) }
            default: nil
            }
        self = id
        guard id.stored == bytes else { return nil }
    }

    /// Bytes of a SHA-256 digest.
    private static var digestLength: Int { 32 }

    /// The program in keychain files: a number for the kind, and what tells it from others.
    fileprivate var stored: [UInt8] {
        switch self {
        case nil: [0]
        case .path(let path): [1] + path.utf8
        case .digest(let digest): [2] + digest
        case .contained(.flatpak(let id), let digest): [3] + digest + id.utf8
        case .contained(.snap(let name), let digest): [4] + digest + name.utf8
        case .contained(.other, let digest): [5] + digest
        case .machine(let id): [6] + id.utf8
        }
    }
}
