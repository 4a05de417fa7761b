import Foundation
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import PIVDriver
@testable import VirtualCard

/// Keys of a card that was read before are used without a question; a signature shows whether they are still there.
@Suite struct RememberedKeyTests {
    private let memory = VolatileTokenMemory()
    private let digest = [UInt8](repeating: 0x5A, count: 32)
    private let select: UInt8 = 0xA4, getData: UInt8 = 0xCB, verify: UInt8 = 0x20, authenticate: UInt8 = 0x87
    private let metadata: UInt8 = 0xF7

    /// A new program that has read the card's identity.
    private func fresh(_ card: VirtualCard) throws -> Desk {
        let desk = Desk(card: card, certificates: memory)
        _ = try desk.identity()
        return desk
    }

    private func listed(_ card: VirtualCard) throws -> VirtualCard {
        _ = try fresh(card).inventory()
        return card
    }

    /// The card after another program has put a key into 9A, or has emptied it.
    private func replacing(
        _ card: VirtualCard, with kind: KeyKind?, _ policy: CardKey.PINPolicy = .once
    ) throws -> (card: VirtualCard, key: PrivateKey?) {
        var contents = card.contents
        let key = try kind.map { try PrivateKey.generate($0) }
        contents.keys[.authentication] = key.map {
            CardKey(
                $0, algorithm: kind == .ecP256 ? .p256 : .rsa2048, pinPolicy: policy, touchPolicy: .never,
                origin: .generated)
        }
        return (VirtualCard(profile: card.profile, contents: contents, clock: SimulatedClock()), key)
    }

    private func holds(_ signature: [UInt8], _ key: PublicKey) throws -> Bool {
        try key.verify(signature, digest: digest, using: key.kind == .ecP256 ? .ecdsa(nil) : .rsaPKCS1(.sha256))
    }

    // MARK: - What it costs

    @Test(arguments: [(CardProfile.yubiKey57, 1), (.genericShort, 0)])
    func aSignatureWithAKnownCardAsksNothingOfTheKey(profile: CardProfile, questionsOfTries: Int) throws {
        let card = try listed(Travel(profile, .p256).card.make())
        let desk = try fresh(card)
        desk.forgetCommands()
        _ = try desk.perform("9A", .sign(.ecdsa(nil), digest), pin: "123456")
        #expect(desk.commands.suffix(2) == [verify, authenticate])
        #expect(!desk.reader.log.contains { $0.object == 0x5FC105 })
        #expect(desk.commands.count { $0 == metadata } == questionsOfTries)
    }

    @Test func theKeyIsShownAsItWasToWhoeverSignsAndReadForAnybodyElse() throws {
        let card = try listed(Travel(.yubiKey57, .p256).card.make())
        let desk = try fresh(card)
        desk.forgetCommands()
        let believed = try desk.inventory(.privateKey(TokenObjectID("9A"))).objects
        #expect(desk.commands.isEmpty)
        let read = try desk.inventory(.key(TokenObjectID("9A"))).objects
        #expect(desk.commands == [metadata])
        #expect(believed == read)
        #expect(believed.map(\.key?.kind) == [.ecP256])
    }

    @Test func aRightSignatureMakesTheKeyAKnownOne() throws {
        let card = try listed(Travel(.yubiKey57, .p256).card.make())
        let desk = try fresh(card)
        _ = try desk.perform("9A", .sign(.ecdsa(nil), digest), pin: "123456")
        desk.forgetCommands()
        #expect(try desk.inventory(.key(TokenObjectID("9A"))).objects.count == 1)
        #expect(desk.commands.isEmpty)
    }

    /// A wrong plaintext or shared secret looks like a right one.
    @Test func whatNothingCanCheckIsNotDoneWithARememberedKey() throws {
        let card = try listed(Travel(.yubiKey57, .p256).card.make())
        let desk = try fresh(card)
        desk.forgetCommands()
        let peer = try PrivateKey.generate(.ecP256).publicKey.rawRepresentation
        _ = try desk.perform("9D", .agree(peer), pin: "123456")
        #expect(desk.commands.first == metadata)
    }

    @Test func aCardThatNothingWasReadOfIsAsked() throws {
        let desk = try fresh(Travel(.yubiKey57, .p256).card.make())
        desk.forgetCommands()
        _ = try desk.perform("9A", .sign(.ecdsa(nil), digest), pin: "123456")
        #expect(desk.commands.first == metadata)
    }

    // MARK: - Another key by now

    @Test(arguments: [CardProfile.yubiKey54, .yubiKey57])
    func anotherKeyOfTheKindSignsAtTheFirstAttempt(profile: CardProfile) throws {
        let (card, key) = try replacing(listed(Travel(profile, .p256).card.make()), with: .ecP256)
        let desk = try fresh(card)
        let signature = try desk.perform("9A", .sign(.ecdsa(nil), digest), pin: "123456")
        #expect(try holds(signature, #require(key).publicKey))
        // From then on the new key is used, and remembered.
        #expect(try desk.inventory(.key(TokenObjectID("9A"))).objects.first?.key?.publicKey == key?.publicKey.spki)
        let remembered = try #require(memory.all().first.flatMap { RememberedCard(parsing: $0) })
        #expect(remembered.key(in: .authentication)?.publicKey == key?.publicKey.spki)
        #expect(remembered.metadata.count >= 4)
    }

    /// An operation that names the old public key gets no signature of the new key.
    @Test(arguments: [true, false])
    func theKeyThatIsMeantIsUsedAndNoOther(isRemembered: Bool) throws {
        let old = try listed(Travel(.yubiKey57, .p256).card.make())
        let meant = try #require(try fresh(old).inventory(.key(TokenObjectID("9A"))).objects.first?.key).publicKey
        let (card, key) = try replacing(old, with: .ecP256)
        let desk = isRemembered ? try fresh(card) : Desk(card: card)
        func sign(_ publicKey: [UInt8]?) throws(TokenError) -> [UInt8] {
            try desk.perform(
                TokenOperation(
                    key: TokenObjectID("9A"), action: .sign(.ecdsa(nil), digest), publicKey: publicKey), pin: "123456")
        }
        for _ in 0..<2 { #expect(throws: TokenError(.notFound, "")) { try sign(meant) } }
        let new = try #require(key).publicKey
        #expect(try holds(sign(new.spki), new))
        #expect(try holds(sign(nil), new))
        #expect(throws: TokenError(.notFound, "")) { try sign(meant) }
    }

    @Test func aKeyThatIsExchangedWhileItIsUsedIsFoundOut() throws {
        let card = SmallCard()
        let old = try PrivateKey.generate(.rsa(bits: 2048))
        try card.provision(0x9E, tag: "5FC101", old)
        var transaction = card.transaction()
        var token = try #require(try PIVDriver().recognize(&transaction, atr: card.atr))
        let operation = TokenOperation(
            key: TokenObjectID("9E"), action: .sign(.rsaPKCS1(.sha256), digest), publicKey: old.publicKey.spki)
        #expect(try token.perform(operation, &transaction).count == 256)
        try card.provision(0x9E, tag: "5FC101", PrivateKey.generate(.rsa(bits: 2048)))
        for _ in 0..<2 {
            #expect(throws: TokenError(.notFound, "")) { _ = try token.perform(operation, &transaction).count }
        }
    }

    @Test func anotherKeyOfAnotherKindIsReadBeforeItIsUsed() throws {
        let (card, _) = try replacing(listed(Travel(.yubiKey57, .p256).card.make()), with: .rsa(bits: 2048))
        let desk = try fresh(card)
        #expect(throws: TokenError(.invalidArgument, "")) {
            try desk.perform("9A", .sign(.ecdsa(nil), digest), pin: "123456")
        }
        #expect(try desk.perform("9A", .sign(.rsaPKCS1(.sha256), digest)).count == 256)
    }

    @Test func aSlotThatWasEmptiedIsSaidToBeEmpty() throws {
        let (card, _) = try replacing(listed(Travel(.yubiKey57, .p256).card.make()), with: nil)
        let desk = try fresh(card)
        #expect(throws: TokenError.self) { try desk.perform("9A", .sign(.ecdsa(nil), digest), pin: "123456") }
        #expect(try desk.inventory(.privateKey(TokenObjectID("9A"))).objects.allSatisfy { $0.key == nil })
    }

    @Test(arguments: [CardKey.PINPolicy.never, .once, .always])
    func anotherPolicyOfThePINIsFoundOut(policy: CardKey.PINPolicy) throws {
        let (card, key) = try replacing(listed(Travel(.yubiKey57, .p256).card.make()), with: .ecP256, policy)
        let desk = try fresh(card)
        try desk.verify()
        for _ in 0..<2 {
            var signature: [UInt8]
            do throws(TokenError) {
                signature = try desk.perform("9A", .sign(.ecdsa(nil), digest))
            } catch {
                #expect(error.code == .pinRequired)
                #expect(policy == .always)
                signature = try desk.perform("9A", .sign(.ecdsa(nil), digest), pin: "123456")
            }
            #expect(try holds(signature, #require(key).publicKey))
        }
    }

    @Test func noTryIsSpentOnFindingOut() throws {
        let (card, _) = try replacing(listed(Travel(.yubiKey57, .p256).card.make()), with: .ecP256)
        let desk = try fresh(card)
        #expect(throws: TokenError(.pinIncorrect, "")) {
            try desk.perform("9A", .sign(.ecdsa(nil), digest), pin: "654321")
        }
        #expect(try desk.status().triesLeft == 2)
        #expect(desk.commands.count { $0 == verify } == 1)
    }

    @Test func aFailureThatIsNotOfTheKeyIsNotTriedAgain() throws {
        let card = try listed(Travel(.yubiKey57, .p256).card.make())
        let desk = try fresh(card)
        try desk.verify()
        desk.forgetCommands()
        desk.reader.faults.order(.status(.memoryFailure))
        #expect(throws: TokenError(.storage, "")) { try desk.perform("9A", .sign(.ecdsa(nil), digest)) }
        #expect(desk.commands == [authenticate, metadata])
        desk.forgetCommands()
        #expect(try desk.perform("9A", .sign(.ecdsa(nil), digest)).isEmpty == false)
        #expect(desk.commands == [authenticate])
    }

    /// A card without metadata tells of no key that has no certificate, so that the memory is the only place that knows it.
    @Test(arguments: [TokenSelection.privateKey("9A"), .object("9A"), .all])
    func aKeyThatAnotherProgramMadeMeanwhileStaysRemembered(whatWasRead: TokenSelection) throws {
        let card = try IssuedCard(profile: .generic).make()
        let reading = try fresh(card)
        _ = try reading.inventory(whatWasRead)
        let made = try generate(fresh(card))
        _ = try reading.inventory()
        let listed = try #require(try fresh(card).inventory().objects.first { $0.id == "9A" })
        #expect(listed.key?.publicKey == made)
        #expect(listed.certificate == nil)
    }

    /// Another program ended the PIN's validity, or the card failed.
    @Test(arguments: [StatusWord.securityStatusNotSatisfied, .memoryFailure])
    func aRefusalDoesNotForgetAKeyOfWhichTheCardTellsNothing(status: StatusWord) throws {
        let card = try IssuedCard(profile: .generic).make()
        let made = try PublicKey(spki: generate(fresh(card)))
        let desk = try fresh(card)
        try desk.verify()
        desk.reader.faults.order(.status(status))
        let error = try #require(throws: TokenError.self) { try desk.perform("9A", .sign(.ecdsa(nil), digest)) }
        #expect(error.status == status)
        #expect(try holds(desk.perform("9A", .sign(.ecdsa(nil), digest), pin: "123456"), made))
    }

    /// As after a reset by another program, between the listing and the use of a key.
    @Test func aMadeKeySignsOnACardThatIsRecognizedAnew() throws {
        let card = try IssuedCard(profile: .generic).make()
        let made = try PublicKey(spki: generate(fresh(card)))
        let desk = Desk(card: card, certificates: memory)
        #expect(try holds(desk.perform("9A", .sign(.ecdsa(nil), digest), pin: "123456"), made))
    }

    @Test func theCertificateOfAnotherKeyIsBelievedMoreThanTheMemory() throws {
        let card = try IssuedCard(profile: .generic).make()
        _ = try generate(fresh(card))
        let other = Desk(card: card)
        let new = try PublicKey(spki: generate(other))
        let builder = try CertificateBuilder(
            commonName: "9A", publicKey: new, notBefore: 1_600_000_000, notAfter: 1_900_000_000)
        try other.administer(.setCertificate("9A", builder.selfSigned(by: PrivateKey.generate(.ecP256)).der))
        let desk = try fresh(card)
        #expect(try holds(desk.perform("9A", .sign(.ecdsa(nil), digest), pin: "123456"), new))
        #expect(try fresh(card).inventory(.privateKey("9A")).objects.first?.key?.publicKey == new.spki)
    }

    /// - Returns: the public key of a key that the program makes in 9A.
    private func generate(_ desk: Desk) throws -> [UInt8] {
        try desk.administer(.generateKey("9A", .ecP256, KeyPolicies(), replacing: .any, allowsWeak: true)).publicKey
    }

    // MARK: - Many signatures

    /// A slot's key is exchanged while a program uses it: the first signature is checked, and any that comes a second later.
    @Test func ofManySignaturesAtOnceWithECDSATheFirstIsChecked() throws {
        let card = SmallCard()
        let old = try PrivateKey.generate(.ecP256)
        try card.provision(0x9E, tag: "5FC101", old)
        var transaction = card.transaction()
        var token = try #require(try PIVDriver().recognize(&transaction, atr: card.atr))
        let operation = TokenOperation(key: TokenObjectID("9E"), action: .sign(.ecdsa(nil), digest))
        func sign() throws(TokenError) -> [UInt8] {
            let signature = try token.perform(operation, &transaction)
            return Array(copying: signature.bytes)
        }
        #expect(try holds(sign(), old.publicKey))
        let new = try PrivateKey.generate(.ecP256)
        card.keys[0x9E] = new
        // Within the second, only a check by the caller notices the other key.
        let unchecked = try? sign()
        Thread.sleep(forTimeInterval: 1.1)
        if let unchecked {
            #expect(try holds(unchecked, new.publicKey))
            #expect(throws: TokenError(.malformed, "")) { try sign() }
        }
        try card.provision(0x9E, tag: "5FC101", new)
        #expect(try holds(sign(), new.publicKey))
    }
}
