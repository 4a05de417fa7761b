import PIVDriver
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost
@testable import KeychainModel

/// If the user has set it (`tokenctl card pin proof`), a card proves before any PIN that it is the one that was seen first.
@Suite struct ProofBeforePINTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// The card as a new process sees it.
    private func program(_ reader: VirtualReader, proves: Bool = true, recalls: Bool = true) -> TokenKeychain {
        let certificates = FileTokenMemory(
            directory: folder.path("certificates"), recalls: recalls, limit: FileTokenMemory.certificateLimit)
        return TokenKeychain(
            TokenSlot(reader: reader, drivers: [PIVDriver(certificates: certificates) { proves }]))
    }

    private func list(_ reader: VirtualReader, recalls: Bool = true) throws {
        _ = try program(reader, recalls: recalls).items(matching: Query(.certificate, limit: .all))
    }

    private func pinsSent(_ reader: VirtualReader) -> Int {
        reader.log.count { [0x20, 0x24, 0x2C].contains($0.ins) && $0.dataCount > 0 }
    }

    private func sign(
        _ token: TokenKeychain, _ person: TypesInTurn = TypesInTurn("123456"), key: String = "9A"
    ) throws -> [UInt8] {
        let key = try #require(try token.keys(.signer(key)).first)
        return try key.sign(AuthenticationContext(prompter: person))
    }

    @Test(arguments: [CardProfile.generic, .canoKey])
    func aCloneOfACardThatWasListedIsSentNoPINAndNobodyIsAsked(profile: CardProfile) throws {
        let original = TestCard(profile: profile, name: "original")
        try list(VirtualReader(card: try original.make()))
        // On a clone that reports its keys' public halves, only the certificates are the original's.
        let clone = VirtualReader(card: try original.clone().make())
        try list(clone)
        clone.clearLog()
        let person = TypesInTurn("123456")
        #expect(throws: KeychainError(.verifyFailed)) { try sign(program(clone), person) }
        #expect(throws: KeychainError(.verifyFailed)) {
            try program(clone).verifyPIN(authentication: AuthenticationContext(prompter: person))
        }
        #expect(throws: KeychainError(.verifyFailed)) {
            try program(clone).change(.unblockingKey, authentication: AuthenticationContext(prompter: person))
        }
        #expect(person.requests.isEmpty)
        #expect(pinsSent(clone) == 0)
    }

    @Test func whoeverAsksForNothingHasItOff() throws {
        let original = TestCard(name: "original")
        try list(VirtualReader(card: try original.make()))
        let reader = VirtualReader(card: try original.make())
        _ = try sign(program(reader, proves: false))
        #expect(!reader.log.contains { $0.ins == 0x87 && $0.p2 == 0x9E })
    }

    @Test(arguments: [CardProfile.generic, .canoKey, .yubiKey57, .pivAppletMetadata])
    func theCardItselfIsChallengedOnceForEachTimeItIsPutIn(profile: CardProfile) throws {
        let reader = VirtualReader(card: try TestCard(profile: profile).make())
        try list(reader)
        let token = program(reader)
        reader.clearLog()
        for _ in 0..<2 { _ = try sign(token, key: "9C") }
        let challenges = reader.log.filter { $0.ins == 0x87 && $0.p2 == 0x9E && !$0.isContinuation }
        #expect(challenges.count == 1)
        #expect(pinsSent(reader) == 2)
    }

    @Test func aCloneOfACardThatWasNeverSeenIsKnownByItsOwnCertificate() throws {
        let clone = VirtualReader(card: try TestCard(name: "original").clone().make())
        let person = TypesInTurn("123456")
        #expect(throws: KeychainError(.verifyFailed)) { try sign(program(clone), person) }
        #expect(person.requests.isEmpty && pinsSent(clone) == 0)
    }

    @Test func theFirstProofIsRemembered() throws {
        let original = TestCard(name: "original")
        _ = try sign(program(VirtualReader(card: try original.make())))
        // A card with the same GUID, and its own keys and certificates.
        let other = VirtualReader(card: try TestCard(name: "other").make())
        #expect(throws: KeychainError(.verifyFailed)) { try sign(program(other)) }
        #expect(pinsSent(other) == 0)
    }

    @Test func aCardThatWasIssuedAnewIsTakenOnceItIsListedAnew() throws {
        try list(VirtualReader(card: try TestCard(name: "old").make()))
        let new = VirtualReader(card: try TestCard(name: "new").make())
        #expect(throws: KeychainError(.verifyFailed)) { try sign(program(new)) }
        try list(new, recalls: false)
        #expect(try !sign(program(new)).isEmpty)
    }

    @Test func aCardWithout9EIsComparedByItsKey9A() throws {
        let slots: [CardKeyReference] = [.authentication, .signature]
        let reader = VirtualReader(card: try TestCard(slots: slots, name: "old").make())
        try list(reader)
        #expect(try !sign(program(reader)).isEmpty)
        let other = VirtualReader(card: try TestCard(slots: slots, name: "new").make())
        #expect(throws: KeychainError(.verifyFailed)) { try sign(program(other)) }
        #expect(pinsSent(other) == 0)
    }

    @Test func aCardWithoutKeysProvesNothingAndTakesItsPIN() throws {
        let reader = VirtualReader(card: try TestCard(slots: []).make())
        try program(reader).verifyPIN(authentication: .owner)
        #expect(pinsSent(reader) == 1)
    }
}
