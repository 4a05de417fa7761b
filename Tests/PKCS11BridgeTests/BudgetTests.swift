import CCryptoki
import CryptokiNames
import HostAPI
import KeychainHost
import KeychainModel
import SecureBytes
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import PKCS11Bridge

/// The number of card commands for the jobs of programs. Each one takes a real card between 10 and 50 milliseconds.
@Suite struct BudgetTests {
    /// A person who types the PIN.
    private struct TypesPIN: Prompter {
        var canAsk: Bool { true }
        var canAskAgain: Bool { true }
        func ask(_ request: PromptRequest) throws(KeychainError) -> Secret { .of("123456") }
        func confirm(_ question: String) throws(KeychainError) -> Bool { false }
    }

    /// The calls of `pkcs11-tool --login --sign --id 01`, and with `--id 02`, whose key needs a login for each use.
    private func sign(
        _ module: TestModule, _ algorithm: CardAlgorithm, id: UInt8 = 1, pin: String? = "123456"
    ) throws {
        let slot = try #require(module.slots.first)
        _ = try module.cryptoki.tokenInfo(slot)
        let session = try module.cryptoki.openSession(slot, flags: CKF_SERIAL_SESSION)
        _ = try module.cryptoki.tokenInfo(slot)
        try module.cryptoki.logIn(session, CKU_USER, pin: pin.map { Secret.of($0) })
        let key = try module.key(session, [id])
        let wantsLogin = try module.value(session, key, CKA_ALWAYS_AUTHENTICATE) == [1]
        let mechanism = algorithm == .p256 ? CKM_ECDSA : CKM_SHA256_RSA_PKCS
        try module.cryptoki.signInit(session, MechanismRequest(mechanism), key: key)
        if wantsLogin { try module.cryptoki.logIn(session, CKU_CONTEXT_SPECIFIC, pin: .of("123456")) }
        let data = [UInt8](repeating: 1, count: 32)
        #expect(try !bytes(of: module.cryptoki.sign(session, data, .bytes(1_024))).isEmpty)
    }

    /// The calls of `pkcs11-tool --list-objects --type cert`.
    private func list(_ module: TestModule) throws {
        let slot = try #require(module.slots.first)
        _ = try module.cryptoki.tokenInfo(slot)
        let session = try module.cryptoki.openSession(slot, flags: CKF_SERIAL_SESSION)
        #expect(try module.find(session, (CKA_CLASS, Encoded.ulong(CKO_CERTIFICATE))).count == 4)
    }

    /// The commands of a job in a new program, including continuations: on a card that no program of the user has seen, and on
    /// one that has been listed.
    private func commands(
        _ algorithm: CardAlgorithm, _ profile: CardProfile, _ job: (TestModule) throws -> Void
    ) throws -> (unseen: Int, known: Int) {
        let reader = VirtualReader(card: try Cards.plain(algorithm, profile))
        try job(TestModule(reader))
        let unseen = reader.log.count
        let first = try TestModule(reader)
        try list(first)
        reader.clearLog()
        try job(TestModule(reader, sharing: first))
        return (unseen, reader.log.count)
    }

    /// The commands come on top of a signature's. Only the card knows whether it has forgotten the PIN.
    @Test(arguments: [CardProfile.yubiKey57, .generic]) func aLogoutCostsItsSelectionItselfAndTheQueryOfItsEffect(
        profile: CardProfile
    ) throws {
        let reader = VirtualReader(card: try Cards.plain(.p256, profile))
        let module = try TestModule(reader)
        let session = try module.cryptoki.openSession(
            #require(module.slots.first), flags: CKF_SERIAL_SESSION)
        try module.cryptoki.logIn(session, CKU_USER, pin: .of("123456"))
        reader.clearLog()
        try module.cryptoki.logOut(session)
        #expect(reader.log.count == 3, "\(reader.log)")
    }

    @Test func aSignatureCostsSixCommandsOnAKnownYubiKey() throws {
        let p256 = try commands(.p256, .yubiKey54) { try sign($0, .p256) }
        #expect(p256.known == 6)
        #expect(p256.unseen == 8)
        let rsa = try commands(.rsa2048, .yubiKey54) { try sign($0, .rsa2048) }
        #expect(rsa.known == 6)
        #expect(rsa.unseen == 8)
    }

    @Test(arguments: [CardProfile.pivAppletMetadata, .canoKey])
    func aSignatureCostsNoMoreOnAKnownCardThatDoesAsYubiKeysDo(profile: CardProfile) throws {
        #expect(try commands(.p256, profile) { try sign($0, .p256) }.known == 6)
        // The block takes two commands, and its answer another.
        #expect(try commands(.rsa2048, profile) { try sign($0, .rsa2048) }.known == 8)
    }

    /// The login for the one use has the PIN of the user's login, which was the card's last command.
    @Test(arguments: [CardProfile.pivAppletMetadata, .canoKey, .yubiKey57, .generic], [CardAlgorithm.p256, .rsa2048])
    func aSignatureWith9CCostsNoMoreThanOneWith9AAndOnePIN(profile: CardProfile, algorithm: CardAlgorithm) throws {
        var pins = 0
        let cost = try commands(algorithm, profile) { module in
            let before = module.reader.pinsSent
            try sign(module, algorithm, id: 2)
            pins = module.reader.pinsSent - before
        }
        #expect(try cost.known == commands(algorithm, profile) { try sign($0, algorithm) }.known)
        #expect(pins == 1)
    }

    /// The program takes the objects from the host, which has just read them for another program.
    @Test(
        arguments: [CardProfile.yubiKey54, .yubiKey57, .pivAppletMetadata, .canoKey, .pivApplet, .generic],
        [CardAlgorithm.p256, .rsa2048])
    func aSignatureRightAfterAnotherProgramsListingCostsNoMore(
        profile: CardProfile, algorithm: CardAlgorithm
    ) throws {
        for id in [UInt8(1), 2] {
            let reader = VirtualReader(card: try Cards.plain(algorithm, profile))
            let known = KnownCards { _ in CardInsertion(changeCount: reader.occupancy.changeCount) }
            let first = try TestModule(reader, knownCards: known)
            try list(first)
            let second = try TestModule(reader, sharing: first, knownCards: known)
            reader.clearLog()
            try sign(second, algorithm, id: id)
            #expect(reader.log.count <= (algorithm == .p256 ? 6 : 8), "\(reader.log)")
            #expect(reader.pinsSent == 1)
        }
    }

    /// A person who is asked by the module. The tries are asked for when the program looks at the token, and again with the answer,
    /// since other programs may have used some while the person typed. The question itself shows what the card told the program, for
    /// a second, and costs no command. On a card without metadata, PIV is confirmed before the tries are asked for: an answer to
    /// VERIFY does not show which application gave it.
    @Test(
        arguments: [
            (CardProfile.yubiKey54, 6), (.pivAppletMetadata, 6), (.canoKey, 6), (.generic, 7), (.pivApplet, 7),
        ],
        [(CardAlgorithm.p256, 0), (.rsa2048, 2)])
    func aSignatureOfAPersonWhoIsAskedCostsOneQuestionMore(
        card: (profile: CardProfile, count: Int), key: (algorithm: CardAlgorithm, continuations: Int)
    ) throws {
        let reader = VirtualReader(card: try Cards.plain(key.algorithm, card.profile))
        let first = try TestModule(reader)
        try list(first)
        let policy = PromptPolicy(prompter: TypesPIN())
        let module = try TestModule(reader, promptPolicy: policy, sharing: first)
        reader.clearLog()
        try sign(module, key.algorithm, pin: nil)
        #expect(reader.log.count <= card.count + key.continuations, "\(reader.log)")
        #expect(reader.pinsSent == 1)
    }

    @Test(arguments: [CardProfile.pivAppletMetadata, .canoKey, .generic])
    func aSignatureWithoutAPINCostsThreeCommandsWithP256AndFiveWithRSAOnAKnownCard(profile: CardProfile) throws {
        for (algorithm, count) in [(CardAlgorithm.p256, 3), (.rsa2048, 5)] {
            let cost = try commands(algorithm, profile) { module in
                let session = try module.session()
                let key = try module.key(session, [4])
                let mechanism = algorithm == .p256 ? CKM_ECDSA : CKM_SHA256_RSA_PKCS
                _ = try module.sign(
                    session, MechanismRequest(mechanism), key, [UInt8](repeating: 1, count: 32))
            }
            #expect(cost.known == count)
        }
    }

    @Test func theMechanismsOfACardThatWasListedCostNothing() throws {
        for profile in [CardProfile.yubiKey54, .generic] {
            let reader = VirtualReader(card: try Cards.plain(.p256, profile))
            let module = try TestModule(reader)
            try list(module)
            let count = reader.log.count
            _ = try module.cryptoki.mechanisms(module.slots[0])
            #expect(reader.log.count == count)
        }
    }

    @Test func aSignatureCostsAQuestionForThePINMoreWhereTheCardTellsNothingOfItsKeys() throws {
        let p256 = try commands(.p256, .generic) { try sign($0, .p256) }
        #expect(p256.known == 7)
        #expect(p256.unseen == 11)
        // The block of an RSA key takes two commands, and its answer another, on a card without extended length.
        let rsa = try commands(.rsa2048, .generic) { try sign($0, .rsa2048) }
        #expect(rsa.known == 9)
        #expect(rsa.unseen == 13)
    }

    @Test func aListOfCertificatesCostsAtMostFourteenCommandsOnAKnownCard() throws {
        for (algorithm, profile) in [
            (CardAlgorithm.p256, CardProfile.yubiKey54), (.rsa2048, .yubiKey54), (.p256, .generic),
            (.rsa2048, .generic),
        ] {
            #expect(try commands(algorithm, profile, list).known <= 14)
        }
    }

    @Test func aListOfEverythingCostsNoMoreThanOneOfCertificates() throws {
        for profile in [CardProfile.yubiKey54, .generic] {
            let certificates = try commands(.p256, profile, list)
            let everything = try commands(.p256, profile) { module in
                _ = try module.cryptoki.tokenInfo(try #require(module.slots.first))
                let session = try module.session()
                #expect(try module.find(session).count > 10)
            }
            #expect(everything == certificates)
        }
    }

    @Test func aDataObjectThatIsNamedCostsOneCommandWithItsValue() throws {
        let cost = try commands(.p256, .generic) { module in
            _ = try module.cryptoki.tokenInfo(try #require(module.slots.first))
            let session = try module.session()
            module.reader.clearLog()
            let found = try module.find(
                session, (CKA_CLASS, Encoded.ulong(CKO_DATA)), (CKA_LABEL, Array("Discovery Object".utf8)))
            #expect(try module.value(session, try #require(found.first), CKA_VALUE).count == 18)
        }
        #expect(cost.unseen == 1)
        #expect(cost.known == 1)
    }

    @Test func aHundredFurtherSignaturesCostOneCommandEach() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain(.p256, .yubiKey54)))
        let session = try module.session(loggedIn: true)
        let key = try module.key(session, [1])
        _ = try module.sign(session, MechanismRequest(CKM_ECDSA), key, [1])
        module.reader.clearLog()
        for _ in 0..<100 { _ = try module.sign(session, MechanismRequest(CKM_ECDSA), key, [1]) }
        #expect(module.reader.log.count == 100)
    }
}
