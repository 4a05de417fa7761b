import Glibc
import HostAPI
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost
@testable import KeychainModel
@testable import KeychainStore

/// A bound card proves that it is the bound one before its PIN is asked for. Keychain semantics 7.11.
@Suite struct CardProofTests {
    private let local: TestKeychain

    init() throws {
        local = try TestKeychain()
        try local.addPassword(secret: "s3cret")
    }

    private static let slots: [CardKeyReference] = [.authentication, .keyManagement, .cardAuthentication]

    private func card(
        _ algorithm: CardAlgorithm = .p256, slots: [CardKeyReference] = CardProofTests.slots
    ) -> TestCard {
        TestCard(algorithm: algorithm, slots: slots, name: "original")
    }

    private func unlock(
        with tokens: [TokenKeychain], _ person: TypesInTurn, _ keychain: LocalKeychain? = nil
    ) throws -> Bool {
        try (keychain ?? local.reopened()).unlock(
            with: tokens, use: "read", authentication: AuthenticationContext(prompter: person))
    }

    @Test(arguments: [CardAlgorithm.p256, .rsa2048])
    func aCloneMadeWithoutThePINIsSentNoneAndNobodyIsAskedForOne(algorithm: CardAlgorithm) throws {
        try local.keychain.bind(to: Desk(card(algorithm)).token, authentication: .owner)
        let clone = try Desk(card(algorithm).clone(), reader: "Other Reader")
        let person = TypesInTurn("123456")
        let error = #expect(throws: KeychainError(.verifyFailed)) { try unlock(with: [clone.token], person) }
        #expect(error?.reason.contains("is not the") == true && error?.reason.contains("9E") == true)
        #expect(person.requests.isEmpty)
        #expect(clone.pinsSent == 0)
        #expect(clone.statusQueries == 0)
        #expect(clone.keyUses == 1)
    }

    /// A card with metadata tells its keys, so that the clone is seen to lack the bound one.
    @Test(arguments: [CardProfile.generic, .yubiKey54])
    func aCloneThatLacksTheBoundKeyIsCalledAnotherCard(profile: CardProfile) throws {
        var original = card()
        original.profile = profile
        try local.keychain.bind(to: Desk(original).token, authentication: .owner)
        let clone = try Desk(original.clone(), reader: "Other Reader")
        let person = TypesInTurn("123456")
        let error = #expect(throws: KeychainError(.verifyFailed)) { try unlock(with: [clone.token], person) }
        #expect(error?.reason.contains("was sent no PIN") == true)
        #expect(person.requests.isEmpty)
        #expect(clone.pinsSent == 0)
        // Nor does it hide the card itself.
        #expect(try unlock(with: [clone.token, Desk(original).token], TypesInTurn("123456")))
    }

    @Test(arguments: [CardAlgorithm.p256, .p384, .rsa2048])
    func theCardItselfIsChallengedBeforeItsPINIsSent(algorithm: CardAlgorithm) throws {
        let desk = try Desk(card(algorithm))
        let binding = try local.keychain.bind(to: desk.token, authentication: .owner)
        #expect(binding.proof?.object.rawValue == "9E")
        #expect(binding.proof?.canBeChallenged == true)
        #expect(try local.reopened().cardBindings() == [binding])
        try desk.token.reset()
        desk.reader.clearLog()
        #expect(try unlock(with: [desk.token], TypesInTurn("123456")))
        let uses = desk.reader.log.filter { $0.ins == 0x87 && !$0.isContinuation || $0.ins == 0x20 && $0.dataCount > 0 }
        #expect(uses.first?.ins == 0x87 && uses.first?.p2 == 0x9E)
        #expect(uses.last?.ins == 0x87 && uses.last?.p2 == 0x9D)
        #expect(desk.pinsSent == 1)
    }

    @Test func theCardItselfIsFoundBesideItsClone() throws {
        let desk = try Desk(card())
        try local.keychain.bind(to: desk.token, authentication: .owner)
        let clone = try Desk(card().clone(), reader: "Other Reader")
        try desk.token.reset()
        #expect(try unlock(with: [clone.token, desk.token], TypesInTurn("123456")))
        #expect(clone.pinsSent == 0)
    }

    @Test func thePasswordIsAskedForInPlaceOfThePINOfAClone() throws {
        try local.keychain.bind(to: Desk(card()).token, authentication: .owner)
        let clone = try Desk(card().clone(), reader: "Other Reader")
        let person = TypesInTurn("correct")
        try local.reopened().unlock(
            use: "read", authentication: AuthenticationContext(prompter: person, cards: [clone.token]))
        #expect(person.requests.map(\.purpose) == [.password])
        #expect(person.requests.first?.failure?.contains("is not the") == true)
        #expect(clone.pinsSent == 0)
    }

    @Test func theLineOfAScriptIsNotSentToAClone() throws {
        try local.keychain.bind(to: Desk(card()).token, authentication: .owner)
        let clone = try Desk(card().clone(), reader: "Other Reader")
        let script = AuthenticationContext(prompter: AnswersByScript("123456"), cards: [clone.token])
        #expect(throws: KeychainError(.verifyFailed)) {
            try local.reopened().unlock(use: "read", authentication: script)
        }
        #expect(clone.pinsSent == 0)
    }

    // MARK: - Cards that cannot be challenged

    @Test func aCardWithout9EIsComparedByItsKey9A() throws {
        let slots: [CardKeyReference] = [.authentication, .keyManagement]
        let desk = try Desk(card(slots: slots))
        let binding = try local.keychain.bind(to: desk.token, authentication: .owner)
        #expect(binding.proof?.object.rawValue == "9A")
        #expect(binding.proof?.canBeChallenged == false)
        try desk.token.reset()
        desk.reader.clearLog()
        #expect(try unlock(with: [desk.token], TypesInTurn("123456")))
        #expect(desk.keyUses == 1)
        // Another card with the same GUID, the bound key's certificate and another key in 9A.
        var other = try card(slots: slots).clone()
        other.certificates[.authentication] = nil
        let impostor = try Desk(other)
        #expect(throws: KeychainError(.verifyFailed)) { try unlock(with: [impostor.token], TypesInTurn("123456")) }
        #expect(impostor.pinsSent == 0)
    }

    @Test func whoeverCannotBeChallengedAndDoesNotOpenItMayHaveThePINNow() throws {
        let slots: [CardKeyReference] = [.authentication, .keyManagement]
        try local.keychain.bind(to: Desk(card(slots: slots)).token, authentication: .owner)
        let clone = try Desk(card(slots: slots).clone())
        let error = #expect(throws: KeychainError(.dataNotAvailable)) {
            try unlock(with: [clone.token], TypesInTurn("123456"))
        }
        #expect(error?.remedy?.contains("change the PIN") == true)
    }

    /// The PIVKey needs the PIN for its key 9E as well.
    @Test func aCardWhose9EWantsThePINIsCompared() throws {
        var card = card()
        card.profile = .pivKey
        let desk = try Desk(card)
        let binding = try local.keychain.bind(to: desk.token, authentication: .owner)
        #expect(binding.proof?.canBeChallenged == false)
        try desk.token.reset()
        #expect(try unlock(with: [desk.token], TypesInTurn("123456")))
    }

    @Test func aCardWithNeitherKeyOpensItAsBefore() throws {
        let desk = try Desk(card(slots: [.keyManagement]))
        #expect(try local.keychain.bind(to: desk.token, authentication: .owner).proof == nil)
        try desk.token.reset()
        #expect(try unlock(with: [desk.token], TypesInTurn("123456")))
    }

    // MARK: - What is in the file

    @Test(arguments: [nil, ProofKey(object: TokenObjectID("9A"), publicKey: [1], canBeChallenged: false)])
    func theProofKeyIsPartOfWhatTheKeychainsKeyIsSealedWith(other: ProofKey?) throws {
        let slots: [CardKeyReference] = [.keyManagement, .cardAuthentication]
        let desk = try Desk(card(slots: slots))
        try local.keychain.bind(to: desk.token, authentication: .owner)
        try local.forge(
            "UPDATE card_binding SET proof = ?", [other.map { .blob($0.encoded()) } ?? .null])
        #expect(throws: KeychainError.self) { try unlock(with: [desk.token], TypesInTurn("123456")) }
    }

    @Test(arguments: [[], [0x80], [0x80, 0x00, 0x81, 0x01, 0x00, 0x82, 0x01, 0x01]] as [[UInt8]])
    func aProofKeyThatIsNoneMakesTheBindingDamaged(bytes: [UInt8]) throws {
        try local.keychain.bind(to: Desk(card()).token, authentication: .owner)
        try local.forge("UPDATE card_binding SET proof = ?", [.blob(bytes)])
        #expect(throws: KeychainError(.decode)) { try local.reopened().checkCardBindings() }
        #expect(try local.reopened().cardBindings().isEmpty)
    }

    /// A file of the previous layout has no column for the proof key. A read-only file keeps that layout.
    @Test(arguments: [0o600, 0o400] as [mode_t])
    func aBindingOfAnOlderLayoutOpensTheKeychain(mode: mode_t) throws {
        let desk = try Desk(card(slots: [.keyManagement]))
        try local.keychain.bind(to: desk.token, authentication: .owner)
        let path = try local.copy(inLayout: 7)
        chmod(path, mode)
        let old = try LocalKeychain.open(path)
        try old.checkCardBindings()
        try desk.token.reset()
        #expect(try unlock(with: [desk.token], TypesInTurn("123456"), old))
        #expect(try old.items(matching: Query(.genericPassword)).found.count == 1)
        let layout = try Database(path: path, access: .readOnly, busyTimeout: 0).value("PRAGMA user_version").integer
        #expect(layout == (mode == 0o400 ? 7 : Migrations.currentVersion))
    }

    @Test func whatIsDamagedInTheLayoutBeforeIsNotMadeGoodByThisOne() throws {
        try local.keychain.bind(to: Desk(card(slots: [.keyManagement])).token, authentication: .owner)
        let path = try local.copy(inLayout: 7)
        let database = try Database(path: path, access: .readWrite, busyTimeout: 0)
        try database.execute("UPDATE card_binding SET label = 'x'; UPDATE settings SET lock_interval = 86400")
        let old = try LocalKeychain.open(path)
        #expect(throws: KeychainError(.decode)) { try old.checkCardBindings() }
        #expect(throws: KeychainError(.invalidKeychain)) { try old.settings }
    }
}

extension TestCard {
    /// A copy by an attacker who can read the card, and has neither its PIN nor its keys.
    func clone() throws -> TestCard {
        var clone = self
        clone.name = "clone"
        for slot in slots { clone.certificates[slot] = try key(slot).certificate.der }
        return clone
    }
}
