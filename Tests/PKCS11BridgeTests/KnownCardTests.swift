import CCryptoki
import CryptokiNames
import KeychainHost
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import PKCS11Bridge
@testable import VirtualCard

/// A program does not ask a card again for what another program of the host has read.
@Suite struct KnownCardTests {
    private let reader: VirtualReader
    private let known: KnownCards

    init() throws {
        let reader = VirtualReader(card: try Cards.plain())
        self.reader = reader
        known = KnownCards { _ in KnownCardTests.insertion(in: reader) }
    }

    private static func insertion(in reader: VirtualReader) -> CardInsertion? {
        reader.occupancy.hasCard ? CardInsertion(changeCount: reader.occupancy.changeCount) : nil
    }

    private func program(_ promptPolicy: PromptPolicy = PromptPolicy()) throws -> TestModule {
        try TestModule(reader, promptPolicy: promptPolicy, knownCards: known)
    }

    /// The calls of `pkcs11-tool --list-objects` and of NSS for a slot: all objects, the token's information and its mechanisms.
    @discardableResult
    private func list(_ module: TestModule) throws -> [[UInt8]] {
        let slot = try #require(module.slots.first)
        let info = try module.cryptoki.tokenInfo(slot)
        let mechanisms = try module.cryptoki.mechanisms(slot)
        let session = try module.cryptoki.openSession(slot, flags: CKF_SERIAL_SESSION)
        let objects = try module.find(session)
        let values = objects.flatMap { object in
            [CKA_CLASS, CKA_ID, CKA_LABEL, CKA_EC_PARAMS].map { (try? module.value(session, object, $0)) ?? [] }
        }
        return values + [[UInt8(info.firmware.major), UInt8(truncatingIfNeeded: info.flags), UInt8(mechanisms.count)]]
    }

    @Test(arguments: [CardProfile.yubiKey54, .yubiKey57, .generic, .pivApplet])
    func theSecondProgramsListingCostsNoCommandAndIsTheSame(_ profile: CardProfile) throws {
        let reader = VirtualReader(card: try Cards.plain(.p256, profile))
        let known = KnownCards { _ in Self.insertion(in: reader) }
        let first = try TestModule(reader, knownCards: known)
        try list(first)
        let expected = try list(first)
        reader.clearLog()
        let second = try TestModule(reader, knownCards: known)
        #expect(try list(second) == expected)
        #expect(reader.log.isEmpty)
        #expect(reader.connectionCount == 1, "the first program's")
    }

    @Test func aProgramThatListedWithoutACommandSignsAndLogsOut() throws {
        try list(program())
        let module = try program()
        try list(module)
        reader.clearLog()
        let session = try module.session(loggedIn: true)
        let key = try module.key(session, [1])
        let digest = [UInt8](repeating: 7, count: 32)
        let signature = try module.sign(session, MechanismRequest(CKM_ECDSA), key, digest)
        let publicKey = try module.key(session, [1], CKO_PUBLIC_KEY)
        try module.cryptoki.verifyInit(session, MechanismRequest(CKM_ECDSA), key: publicKey)
        try module.cryptoki.verify(session, digest, signature: signature)
        #expect(reader.pinsSent == 1)
        try module.cryptoki.logOut(session)
        #expect(returned { _ = try module.key(session, [1]) } == CKR_KEY_HANDLE_INVALID)
    }

    @Test func whatIsReadCountsForOtherProgramsForAMomentOnly() throws {
        let known = KnownCards(for: .zero) { [reader] _ in Self.insertion(in: reader) }
        try list(TestModule(reader, knownCards: known))
        reader.clearLog()
        try list(TestModule(reader, knownCards: known))
        #expect(!reader.log.isEmpty)
    }

    @Test func anotherCardIsReadAnew() throws {
        let first = try list(program())
        let waiting = try program()
        try list(waiting)
        let session = try waiting.session()
        reader.remove()
        #expect(returned { _ = try waiting.find(session) } == CKR_DEVICE_REMOVED)
        reader.insert(try Cards.plain(.p384))
        #expect(returned { _ = try waiting.find(session) } == CKR_SESSION_HANDLE_INVALID)
        #expect(try list(program()) != first)
        #expect(try list(waiting) != first)
    }

    @Test func theSameCardPutBackGoesOnWithTheSessionsOfAProgramThatNeverConnected() throws {
        let card = try Cards.plain()
        reader.insert(card)
        try list(program())
        let waiting = try program()
        try list(waiting)
        let session = try waiting.session()
        let key = try waiting.key(session, [1], CKO_PUBLIC_KEY)
        reader.remove()
        #expect(returned { _ = try waiting.find(session) } == CKR_DEVICE_REMOVED)
        reader.insert(card)
        #expect(try waiting.value(session, key, CKA_ID) == [1])
    }

    @Test func anotherCardThatComesWhileAProgramConnectsIsNotTakenForTheOneThatWasRead() throws {
        try list(program())
        let module = try program()
        try list(module)
        let session = try module.session()
        reader.remove()
        reader.insert(try Cards.plain(.p384))
        #expect(
            returned { try module.cryptoki.logIn(session, CKU_USER, pin: .of("123456")) } == CKR_SESSION_HANDLE_INVALID)
        #expect(reader.pinsSent == 0)
    }

    @Test func aWrongPINOfOneProgramIsToldByTheTokenOfAllAtOnce() throws {
        let module = try program()
        try list(module)
        let session = try module.session()
        #expect(returned { try module.cryptoki.logIn(session, CKU_USER, pin: .of("654321")) } == CKR_PIN_INCORRECT)
        let other = try program()
        #expect(try other.cryptoki.tokenInfo(other.slots[0]).flags & CKF_USER_PIN_COUNT_LOW != 0)
    }

    @Test func whetherAProgramLogsInIsItsOwnAffair() throws {
        try list(program())
        let asking = try program(PromptPolicy(asksItself: true))
        let plain = try program()
        #expect(try list(asking) != list(plain))
        #expect(try list(program()) == list(plain))
    }

    @Test func dataThatWantThePINAreThereForWhoLoggedInAlone() throws {
        func data(_ module: TestModule, _ session: CK_SESSION_HANDLE) throws -> Int {
            try module.find(session, (CKA_CLASS, Encoded.ulong(CKO_DATA))).count
        }
        let module = try program()
        let session = try module.session(loggedIn: true)
        try list(module)
        let seen = try data(module, session)
        let other = try program()
        #expect(try data(other, other.session()) < seen)
    }
}
