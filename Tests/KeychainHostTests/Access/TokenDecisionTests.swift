import Glibc
import HostAPI
import Platform
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel
@testable import KeychainStore

/// Decisions about a card's keys, which are kept in the login keychain.
@Suite struct TokenDecisionTests {
    private let user: TestUser
    private let path: String
    private let keychain: LocalKeychain
    private let policy: StoredAccess
    private let program = ProgramID.path("/usr/bin/ssh")
    private let spki: [UInt8] = [0x30, 0x59, 1]

    init() throws {
        user = try TestUser()
        keychain = try user.create("login")
        path = keychain.path
        let files = SharedKeychains(forSession: true)
        files.adopt(keychain)
        policy = StoredAccess(in: files) { [path] in path }
    }

    private func key(
        _ publicKey: [UInt8]?, of token: String = "piv:1 in Reader 0", named name: String = "Jo"
    ) -> AccessItem {
        AccessItem(TokenObjectID("9A"), publicKey, on: token, named: name)
    }

    /// The decisions of a host that is started later.
    private func later(unlocking: Bool = true) throws -> (policy: StoredAccess, keychain: LocalKeychain) {
        let files = SharedKeychains(forSession: true)
        let keychain = try files.keychain(at: path)
        if unlocking { try keychain.unlock(password: .of("p")) }
        return (StoredAccess(in: files) { [path] in path }, keychain)
    }

    @Test func aDecisionHoldsInLaterHostsAndInEachReader() throws {
        policy.allow(program, to: .sign, key(spki))
        #expect(!policy.hasUnsaved)
        let later = try later().policy
        #expect(later.allows(program, to: .sign, key(spki)))
        #expect(later.allows(program, to: .sign, key(spki, of: "piv:1 in Reader 1", named: "Jo's card")))
        #expect(!later.allows(program, to: .decrypt, key(spki)))
        #expect(!later.allows(.path("/usr/bin/gpg"), to: .sign, key(spki)))
        #expect(!later.allows(program, to: .sign, key([0x30, 0x59, 2])), "a replaced key")
    }

    @Test func aDenialHoldsInLaterHosts() throws {
        policy.deny(program, to: .sign, key(spki))
        #expect(try later().policy.decision(on: program, to: .sign, key(spki)) == false)
    }

    @Test func aLockedKeychainSaysNothing() throws {
        policy.allow(program, to: .sign, key(spki))
        let later = try later(unlocking: false)
        #expect(later.policy.decision(on: program, to: .sign, key(spki)) == nil)
        try later.keychain.unlock(password: .of("p"))
        #expect(later.policy.allows(program, to: .sign, key(spki)))
        later.keychain.lock()
        #expect(later.policy.decision(on: program, to: .sign, key(spki)) == nil)
    }

    @Test func whatIsDecidedWhileItIsLockedEndsWithTheHost() throws {
        keychain.lock()
        policy.allow(program, to: .sign, key(spki))
        #expect(policy.hasUnsaved && policy.allows(program, to: .sign, key(spki)))
        #expect(policy.unsaved.map(\.item) == ["key 9A of Jo"])
        #expect(try later().policy.decision(on: program, to: .sign, key(spki)) == nil)
        // The next decision about it is kept.
        try keychain.unlock(password: .of("p"))
        policy.allow(program, to: .sign, key(spki))
        #expect(try !policy.hasUnsaved && later().policy.allows(program, to: .sign, key(spki)))
    }

    /// Each program of the user could write decisions into it.
    @Test func aKeychainWithoutAPasswordKeepsNone() throws {
        policy.allow(program, to: .sign, key(spki))
        try keychain.changePassword(from: .of("p"), to: .of(""), cost: .negligible)
        #expect(policy.decision(on: program, to: .sign, key(spki)) == nil)
        policy.allow(program, to: .decrypt, key(spki))
        #expect(policy.hasUnsaved)
    }

    /// Such keys cannot be told from those of another card.
    @Test(arguments: [nil, []] as [[UInt8]?])
    func aKeyThatDoesNotTellItsPublicKeyIsDecidedAboutForTheHostsLife(publicKey: [UInt8]?) throws {
        policy.allow(program, to: .sign, key(publicKey))
        #expect(policy.hasUnsaved && policy.allows(program, to: .sign, key(publicKey)))
        #expect(!policy.allows(program, to: .sign, key(publicKey, of: "piv:1 in Reader 1")))
        #expect(try later().policy.decision(on: program, to: .sign, key(publicKey)) == nil)
    }

    @Test func theyAreListedByTheNamesThatTheKeysHad() throws {
        policy.allow(program, to: .sign, key(spki))
        policy.decide(false, .any, to: nil, key(spki))
        let entries = try later().keychain.accessEntries()
        #expect(entries.map(\.item) == ["key 9A of Jo", "key 9A of Jo"])
        #expect(entries.map(\.program) == ["/usr/bin/mailer", nil])
        #expect(entries.map(\.use) == [.sign, nil])
        #expect(entries.map(\.isAllowed) == [true, false])
        #expect(entries.allSatisfy { $0.isLasting && $0.reference == nil })
    }

    @Test func theyAreForgottenByKeyByProgramAndTogether() throws {
        let others = [key([1]), key([2])]
        for item in [key(spki)] + others { policy.allow(program, to: .sign, item) }
        #expect(try policy.forget(item: key(spki, of: "piv:1 in Reader 1"), program: nil) == 1)
        #expect(!policy.allows(program, to: .sign, key(spki)) && policy.allows(program, to: .sign, others[0]))
        let gpg = DecidedProgram(.path("/usr/bin/gpg"), name: "/usr/bin/gpg")
        #expect(try policy.forget(item: nil, program: gpg) == 0)
        #expect(try policy.forget(item: nil, program: nil) == 2)
    }

    @Test func whatIsAllowedIsReplacedAsAWhole() throws {
        policy.allow(program, to: .sign, key(spki))
        let gpg = DecidedProgram(.path("/usr/bin/gpg"), name: "/usr/bin/gpg")
        try policy.replaceAllowed(key(spki), with: [ItemDecision(gpg, to: nil)])
        let later = try later().policy
        #expect(try later.decisions(about: key(spki)) == [ItemDecision(gpg, to: nil)])
        #expect(!later.allows(program, to: .sign, key(spki)))
        #expect(try self.later().keychain.accessEntries().map(\.item) == ["key 9A of Jo"])
    }

    @Test func aRowThatSomebodyElseWritesDecidesNothing() throws {
        policy.allow(program, to: .sign, key(spki))
        let other = key([0x30, 0x59, 2])
        try KeychainConnection.connect(path, access: .readWrite).execute("UPDATE access SET item = '\(other.keptKey)'")
        let later = try later()
        #expect(later.policy.decision(on: program, to: .sign, other) == nil)
        #expect(try later.keychain.accessEntries().isEmpty)
    }
}
