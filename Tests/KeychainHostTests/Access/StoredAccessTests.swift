import Glibc
import HostAPI
import Platform
import TestSupport
import Testing

@testable import KeychainHost
@testable import KeychainModel
@testable import KeychainStore

extension AccessPolicy {
    func allow(_ program: ProgramID, to use: AccessQuestion.Use?, _ item: AccessItem) {
        decide(true, DecidedProgram(program, name: "/usr/bin/mailer"), to: use, item)
    }

    func deny(_ program: ProgramID, to use: AccessQuestion.Use?, _ item: AccessItem) {
        decide(false, DecidedProgram(program, name: "/usr/bin/mailer"), to: use, item)
    }

    func allows(_ program: ProgramID?, to use: AccessQuestion.Use, _ item: AccessItem) -> Bool {
        decision(on: program, to: use, item) == true
    }
}

/// Decisions about a keychain's items, which are in its file.
@Suite struct StoredAccessTests {
    private let user: TestUser
    private let path: String
    private let item: AccessItem
    private let reference: PersistentReference
    /// A host, which has made the keychain.
    private let files = SharedKeychains(forSession: true)
    private let policy: StoredAccess
    private let program = ProgramID.path("/usr/bin/mailer")

    init() throws {
        user = try TestUser()
        let keychain = try user.create("login")
        path = keychain.path
        files.adopt(keychain)
        policy = StoredAccess(in: files)
        reference = try keychain.add(.genericPassword([.account: "anna", .service: "mail"], secret: .of("s3cret")))
            .reference
        item = AccessItem(key: reference.hexText, name: "mail", in: keychain.accessPlace)
    }

    private var keychain: LocalKeychain {
        get throws { try files.keychain(at: path) }
    }

    /// The decisions of a host that is started later.
    private struct Later {
        let policy: StoredAccess
        let keychain: LocalKeychain

        func allows(_ program: ProgramID?, to use: AccessQuestion.Use, _ item: AccessItem) -> Bool {
            decision(on: program, to: use, item) == true
        }

        func decision(on program: ProgramID?, to use: AccessQuestion.Use, _ item: AccessItem) -> Bool? {
            policy.decision(
                on: program, to: use, AccessItem(key: item.key, name: item.name, in: keychain.accessPlace))
        }
    }

    private func later(unlocking: Bool = true) throws -> Later {
        let files = SharedKeychains(forSession: true)
        let keychain = try files.keychain(at: path)
        if unlocking { try keychain.unlock(password: .of("p")) }
        return Later(policy: StoredAccess(in: files), keychain: keychain)
    }

    private func forge(_ sql: String) throws {
        try KeychainConnection.connect(path, access: .readWrite).execute(sql)
    }

    private var rows: Int64? {
        get throws {
            try KeychainConnection.connect(path, access: .readOnly).value("SELECT count(*) FROM access").integer
        }
    }

    @Test func aDecisionHoldsInLaterHosts() throws {
        policy.allow(program, to: .read, item)
        #expect(policy.allows(program, to: .read, item) && !policy.hasUnsaved)
        let later = try later()
        #expect(later.allows(program, to: .read, item))
        #expect(!later.allows(program, to: .export, item))
        #expect(!later.allows(.path("/usr/bin/other"), to: .read, item))
        #expect(!later.allows(.digest(Array(repeating: 1, count: 32)), to: .read, item))
        let other = AccessItem(key: "00", name: "other", in: item.place)
        #expect(!later.allows(program, to: .read, other))
    }

    @Test func whatAProgramMadeItMayUseInEachWay() throws {
        policy.allow(program, to: nil, item)
        let later = try later()
        for use in AccessQuestion.Use.allCases { #expect(later.allows(program, to: use, item), "\(use)") }
    }

    @Test func programsThatLookAlikeAreOthers() throws {
        let digest = [UInt8](repeating: 7, count: 32)
        let programs: [ProgramID] = [
            .digest(digest), .contained(.flatpak("org.mail"), digest: digest),
            .contained(.snap("org.mail"), digest: digest),
            .contained(.other, digest: digest), .path(String(decoding: digest, as: UTF8.self)),
            .machine(String(decoding: digest, as: UTF8.self)),
        ]
        for program in programs {
            policy.allow(program, to: .sign, item)
            let later = try later()
            #expect(programs.filter { later.allows($0, to: .sign, item) } == [program])
            try forge("DELETE FROM access")
        }
    }

    /// A person who lets each program use an item has not said so of each machine.
    @Test func anyProgramIsNoMachine() throws {
        let machine = ProgramID.machine("SHA256:a SHA256:b")
        policy.decide(true, .any, to: nil, item)
        #expect(try later().allows(program, to: .sign, item) && !later().allows(machine, to: .sign, item))
        policy.allow(machine, to: .sign, item)
        #expect(try later().allows(machine, to: .sign, item) && !later().allows(machine, to: .read, item))
        #expect(try !later().allows(.machine("SHA256:b"), to: .sign, item))
        policy.decide(false, .any, to: nil, item)
        #expect(try later().decision(on: program, to: .sign, item) == false, "its own program is refused then")
    }

    // MARK: Denials

    @Test func aDenialHoldsInLaterHosts() throws {
        policy.deny(program, to: .read, item)
        #expect(policy.decision(on: program, to: .read, item) == false && !policy.hasUnsaved)
        let later = try later()
        #expect(later.decision(on: program, to: .read, item) == false)
        #expect(later.decision(on: program, to: .export, item) == nil)
        #expect(later.decision(on: .path("/usr/bin/other"), to: .read, item) == nil)
    }

    @Test func aDenialGoesBeforeAllElse() throws {
        policy.decide(true, .any, to: nil, item)
        policy.deny(program, to: .read, item)
        #expect(policy.decision(on: program, to: .read, item) == false)
        #expect(policy.decision(on: program, to: .sign, item) == true)
        policy.allow(program, to: .export, item)
        policy.deny(program, to: nil, item)
        let later = try later()
        for use in AccessQuestion.Use.allCases { #expect(later.decision(on: program, to: use, item) == false) }
        #expect(later.allows(nil, to: .read, item))
        #expect(try rows == 2, "a decision for all uses replaces those for single ones")
    }

    @Test func theLastDecisionHolds() throws {
        policy.deny(program, to: nil, item)
        policy.allow(program, to: nil, item)
        #expect(try later().decision(on: program, to: .read, item) == true)
        policy.deny(program, to: nil, item)
        #expect(try later().decision(on: program, to: .read, item) == false)
        #expect(try rows == 1)
    }

    @Test(arguments: [
        "UPDATE access SET use = 5", "UPDATE access SET program = CAST(x'012f' AS BLOB)",
        "UPDATE access SET item = '00'", "UPDATE access SET seal = x''", "UPDATE access SET seal = zeroblob(29)",
        "DELETE FROM access",
    ])
    func aRowThatSomebodyElseWroteDeniesNothing(sql: String) throws {
        policy.deny(program, to: .read, item)
        try forge(sql)
        let later = try later()
        for item in [item, AccessItem(key: "00", name: "other", in: item.place)] {
            for use in AccessQuestion.Use.allCases {
                for program in [program, .path("/")] {
                    #expect(later.decision(on: program, to: use, item) == nil)
                }
            }
        }
    }

    @Test func aLockedKeychainDeniesNothing() throws {
        policy.deny(program, to: .read, item)
        #expect(try later(unlocking: false).decision(on: program, to: .read, item) == nil)
    }

    // MARK: Any program

    @Test func anyProgramIsOneWithoutLastingDecisionsToo() throws {
        policy.decide(true, .any, to: nil, item)
        let later = try later()
        for program in [program, .digest([UInt8](repeating: 1, count: 32)), nil] {
            #expect(later.allows(program, to: .read, item))
        }
        try forge("UPDATE access SET item = '00'")
        #expect(try self.later().decision(on: nil, to: .read, item) == nil)
    }

    // MARK: Lists, and forgetting

    private func entries(_ keychain: LocalKeychain) throws -> [String] {
        try keychain.accessEntries().map { entry in
            let use = entry.use.map { "\($0)" } ?? "all"
            return "\(entry.isAllowed ? "allow" : "deny") \(entry.program ?? "any") \(use) \(entry.item)"
        }
    }

    @Test func theDecisionsOfAKeychainAreListed() throws {
        policy.allow(program, to: .read, item)
        policy.deny(.digest([UInt8](repeating: 1, count: 32)), to: nil, item)
        policy.decide(true, .any, to: nil, item)
        let expected = [
            "allow /usr/bin/mailer read mail of anna in login", "deny /usr/bin/mailer all mail of anna in login",
            "allow any all mail of anna in login",
        ]
        #expect(try entries(keychain) == expected)
        #expect(try entries(later().keychain) == expected)
        #expect(try keychain.accessEntries().allSatisfy { $0.reference == reference && $0.isLasting })
        try forge("UPDATE access SET seal = zeroblob(29) WHERE use = 4")
        #expect(try entries(keychain) == Array(expected.dropFirst()), "a forged row is not shown")
    }

    @Test func aRowOfTheLayoutBeforeAllows() throws {
        policy.allow(program, to: .read, item)
        let opened = try KeychainConnection.connect(path, access: .readWrite)
        try opened.execute("DROP TABLE program; PRAGMA user_version = 10")
        let later = try later()
        #expect(later.allows(program, to: .read, item))
        #expect(try opened.value("PRAGMA user_version").integer == Migrations.currentVersion)
    }

    @Test func decisionsAreForgotten() throws {
        let other = DecidedProgram(.path("/usr/bin/other"), name: "/usr/bin/other")
        let bob = try keychain.add(.genericPassword([.account: "bob", .service: "mail"], secret: .of("x")))
        let second = AccessItem(key: bob.reference.hexText, name: "mail of bob in login", in: item.place)
        func decideAll() {
            for item in [item, second] {
                policy.allow(program, to: .read, item)
                policy.deny(.digest([UInt8](repeating: 1, count: 32)), to: nil, item)
                policy.decide(false, other, to: .sign, item)
                policy.decide(true, .any, to: nil, item)
            }
            policy.allow(program, to: .sign, AccessItem(key: "9A", name: "card", in: "piv:1"))
        }
        decideAll()
        #expect(try policy.forget(item: item, program: other) == 1)
        #expect(try policy.forget(item: item, program: nil) == 3)
        #expect(try rows == 4)
        #expect(try policy.forget(item: nil, program: other) == 1)
        #expect(
            try policy.forget(item: nil, program: DecidedProgram(program, name: "/usr/bin/mailer")) == 3,
            "a program's decisions are also those that have its path, and those about a card")
        #expect(try entries(keychain) == ["allow any all mail of bob in login"])
        decideAll()
        #expect(try policy.forget(item: nil, program: nil) == 9)
        #expect(try rows == 0 && !policy.hasUnsaved)
    }

    @Test func aLockedKeychainAllowsNothing() throws {
        policy.allow(program, to: .read, item)
        #expect(try !later(unlocking: false).allows(program, to: .read, item))
        try keychain.lock()
        #expect(!policy.allows(program, to: .read, item))
    }

    @Test(arguments: [
        "UPDATE access SET use = 5", "UPDATE access SET use = 0", "UPDATE access SET program = CAST(x'012f' AS BLOB)",
        "UPDATE access SET item = '00'", "UPDATE access SET seal = x''", "UPDATE access SET seal = zeroblob(28)",
    ])
    func aRowThatSomebodyElseWroteAllowsNothing(sql: String) throws {
        policy.allow(program, to: .read, item)
        try forge(sql)
        let later = try later()
        for item in [item, AccessItem(key: "00", name: "other", in: item.place)] {
            for use in AccessQuestion.Use.allCases {
                for program in [program, .path("/")] { #expect(!later.allows(program, to: use, item)) }
            }
        }
    }

    @Test func aRowOfAnotherKeychainAllowsNothing() throws {
        let other = try user.create("other")
        files.adopt(other)
        let elsewhere = AccessItem(key: item.key, name: "mail", in: other.accessPlace)
        policy.allow(program, to: .read, elsewhere)
        try forge("ATTACH '\(other.path)' AS other; INSERT INTO access SELECT * FROM other.access")
        #expect(try rows == 1)
        #expect(try !later().allows(program, to: .read, item))
    }

    /// Whoever can write files can make one with the identifier and the items of the user's keychain, and knows its password.
    @Test func aKeychainThatCallsItselfTheSameAllowsNothingInThisOne() throws {
        let copy = user.folder.path("copy.keychain")
        try #require(Program.run(["cp", path, copy]).status == 0)
        let forged = try files.keychain(at: copy)
        try forged.unlock(password: .of("p"))
        #expect(try forged.identifier == keychain.identifier && forged.accessPlace != keychain.accessPlace)
        policy.allow(program, to: .read, AccessItem(key: item.key, name: "mail", in: forged.accessPlace))
        #expect(!policy.allows(program, to: .read, item))
        let decisions = AccessDecisions(policy: policy)
        let asking = AskingProgram(ProcessHandle(getpid()))
        decisions.noteGiven(for: forged.accessPlace, by: asking)
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try decisions.require(.sign, of: item, by: asking, asking: NoPrompter())
        }
    }

    @Test func theDecisionsAboutAnItemGoWithIt() throws {
        policy.allow(program, to: .read, item)
        #expect(try rows == 1)
        #expect(try keychain.delete(matching: Query(reference)) == 1)
        #expect(try rows == 0)
    }

    @Test func anotherKeyForgetsTheDecisions() throws {
        policy.allow(program, to: .read, item)
        try keychain.rekey(from: .of("p"), to: .of("p"), cost: .negligible)
        #expect(try rows == 0)
        let rekeyed = AccessItem(key: item.key, name: item.name, in: try keychain.accessPlace)
        for item in [item, rekeyed] { #expect(!policy.allows(program, to: .read, item)) }
        policy.allow(program, to: .read, rekeyed)
        #expect(try later().allows(program, to: .read, item))
    }

    @Test func anotherPasswordForgetsNone() throws {
        policy.allow(program, to: .read, item)
        try keychain.changePassword(from: .of("p"), to: .of("p"), cost: .negligible)
        #expect(try later().allows(program, to: .read, item))
    }

    @Test func aRestoredKeychainHasTheDecisions() throws {
        policy.allow(program, to: .read, item)
        let backup = user.folder.path("backup")
        _ = try keychain.backUp(to: backup)
        let restored = try LocalKeychain.restore(
            backup, to: user.folder.path("restored.keychain"), password: .of("p"), beside: [keychain.identifier])
        let files = SharedKeychains(forSession: true)
        files.adopt(restored)
        let there = AccessItem(key: item.key, name: "mail", in: restored.accessPlace)
        #expect(StoredAccess(in: files).allows(program, to: .read, there))
        #expect(!StoredAccess(in: files).allows(program, to: .read, item))
    }

    @Test func theNewestDecisionsAreKept() throws {
        policy.allow(program, to: .read, item)
        policy.allow(program, to: .export, item)
        try forge("UPDATE access SET id = \(KeychainConnection.maximumDecisions + 1) WHERE use = 5")
        policy.allow(program, to: .sign, item)
        #expect(try rows == 2)
        #expect(!policy.allows(program, to: .read, item))
        #expect(policy.allows(program, to: .export, item) && policy.allows(program, to: .sign, item))
    }

    /// As decisions about cards, and those of a file that cannot be written.
    @Test func whatNoKeychainKeepsTheHostRemembers() throws {
        let card = AccessItem(key: "9A", name: "card", in: "piv:1")
        policy.allow(program, to: .sign, card)
        #expect(policy.allows(program, to: .sign, card) && policy.hasUnsaved)
        let later = try later()
        #expect(!later.policy.allows(program, to: .sign, card))
    }
}
