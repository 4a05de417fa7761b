import HostAPI
import PIVDriver
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost
@testable import KeychainModel

/// When and for what a person is asked for a PIN, and what it costs. Keychain semantics 4.4.
@Suite struct PINPromptTests {
    private func context(_ prompter: any Prompter, _ lastTry: LastTry = .keep) -> AuthenticationContext {
        AuthenticationContext(prompter: prompter, lastTry: lastTry)
    }

    @Test func aSessionKeyAsksOnce() throws {
        let desk = try Desk()
        let person = TypesInTurn("123456")
        for _ in 0..<3 { _ = try desk.key("9A").sign(context(person)) }
        #expect(person.requests.count == 1)
        #expect(desk.pinsSent == 1)
        // The same PIN counts for the key management key.
        let peer = try PrivateKey.generate(.ecP256).publicKey.rawRepresentation
        _ = try desk.key("9D").perform(.agree(peer), use: "agree", authentication: context(person))
        #expect(person.requests.count == 1)
    }

    @Test func theSignatureKeyAsksEachTime() throws {
        let desk = try Desk()
        let person = TypesInTurn("123456", "123456", "123456")
        _ = try desk.key("9A").sign(context(person))
        for _ in 0..<2 { _ = try desk.key("9C").sign(context(person)) }
        #expect(person.requests.count == 3)
        #expect(throws: KeychainError(.userCanceled)) { try desk.key("9C").sign(context(person)) }
    }

    @Test func theCardAuthenticationKeyNeverAsks() throws {
        let desk = try Desk()
        _ = try desk.key("9E").sign(.nobody)
        #expect(desk.pinsSent == 0)
        #expect(desk.statusQueries == 0)
    }

    @Test(arguments: ["9A", "9C", "9D"]) func whereNobodyCanBeAskedNothingIsSent(name: String) throws {
        for profile in [CardProfile.generic, .yubiKey57] {
            let desk = try Desk(TestCard(profile: profile))
            let key = try desk.key(name)
            desk.reader.clearLog()
            #expect(throws: KeychainError(.interactionNotAllowed)) { try key.sign(.nobody) }
            #expect(desk.reader.log.isEmpty)
        }
    }

    @Test func whereNobodyCanBeAskedTheCardIsNamed() throws {
        let desk = try Desk()
        func reason() throws -> String {
            try #require(throws: KeychainError.self) { try desk.key("9A").sign(.nobody) }.reason
        }
        let label = "PIV card 7b13d0e6"
        #expect(try reason().hasPrefix("PIN for '\(label) in Desk Reader' to "))
        #expect(try desk.token.identity()?.label == label)
        let person = TypesInTurn("123456", "654321")
        try desk.token.change(.pin, authentication: context(person))
        #expect(person.requests.map(\.subject) == ["\(label) in Desk Reader", "\(label) in Desk Reader"])
    }

    @Test func aWrongPINCostsOneTryAndAScriptIsNotAskedAgain() throws {
        let card = try TestCard().make()
        let desk = Desk(VirtualReader(card: card))
        let script = AnswersByScript("000000", "123456")
        let error = #expect(throws: KeychainError(.authFailed)) { try desk.key("9A").sign(context(script)) }
        #expect(error?.triesLeft == 2)
        #expect(card.triesLeft == 2)
        #expect(desk.pinsSent == 1)
        #expect(script.timesAsked == 1)
        #expect(desk.keyUses == 0)
    }

    @Test func aPersonIsAskedAgainAndToldWhy() throws {
        for (slip, reason) in [("12", "six to eight"), ("000000", "before")] {
            let desk = try Desk()
            let person = TypesInTurn("000000", slip, "123456")
            _ = try desk.key("9A").sign(context(person))
            #expect(person.requests.map(\.triesLeft) == [3, 2, 2])
            #expect(person.requests.map { $0.failure != nil } == [false, true, true])
            #expect(person.requests[2].failure?.contains(reason) == true)
            // Neither the PIN of the wrong form was sent nor the one that was refused before.
            #expect(desk.pinsSent == 2)
        }
    }

    @Test(arguments: ["000000", "12"]) func aProgramThatGivesOneWrongAnswerForEverIsAskedThreeTimes(pin: String) throws
    {
        let desk = try Desk()
        let program = AnswersForEver(pin)
        #expect(throws: KeychainError(.authFailed)) { try desk.key("9A").sign(context(program)) }
        #expect(program.timesAsked == 3)
        #expect(desk.pinsSent == (pin.count < 6 ? 0 : 1))
    }

    @Test func oneWhosePINWasRefusedBeforeIsAskedTwice() throws {
        let desk = try Desk()
        #expect(throws: KeychainError(.authFailed)) {
            try desk.key("9A").sign(context(AnswersByScript("000000")))
        }
        let program = AnswersForEver("000000")
        #expect(throws: KeychainError(.authFailed)) { try desk.key("9A").sign(context(program)) }
        #expect(program.timesAsked == 2)
        #expect(desk.pinsSent == 1)
    }

    @Test func aPINThatWasPutInIsNoQuestion() throws {
        let desk = try Desk()
        let person = TypesInTurn("000001", "12", "123456")
        let context = context(person)
        context.setCredential(.of("12"), .pin)
        #expect(throws: KeychainError(.authFailed)) { try desk.key("9A").sign(context) }
        #expect(throws: KeychainError(.authFailed)) { try desk.key("9A").sign(context) }
        #expect(person.requests.isEmpty)
        context.removeCredential(.pin)
        _ = try desk.key("9A").sign(context)
        #expect(person.requests.count == 3)
    }

    @Test func `A PIN that is asked for ahead of long work is asked for once`() throws {
        let desk = try Desk()
        let person = TypesInTurn("123456")
        let context = context(person)
        let key = try desk.key("9A")
        try key.askAhead(use: "sign it", authentication: context)
        #expect(
            person.requests.map(\.sentence)
                == ["PIN for 'PIV card 7b13d0e6 in Desk Reader' to sign it with key 9A, 3 tries left"])
        #expect(desk.pinsSent == 1)
        _ = try key.sign(context)
        #expect(person.requests.count == 1)
        #expect(desk.pinsSent == 1)
    }

    @Test func `A wrong PIN that counts for several uses is found ahead of long work`() throws {
        let desk = try Desk()
        let person = TypesInTurn("12", "000000", "123456")
        let context = context(person)
        try desk.key("9A").askAhead(use: "sign it", authentication: context)
        #expect(person.requests.count == 3)
        #expect(desk.pinsSent == 2)
        let given = self.context(AnswersByScript("000001"))
        #expect(throws: KeychainError(.authFailed)) {
            try Desk().key("9A").askAhead(use: "sign it", authentication: given)
        }
    }

    @Test func `A card that forgot the PIN during long work asks nobody again`() throws {
        let desk = try Desk()
        let person = TypesInTurn("123456")
        let context = context(person)
        let key = try desk.key("9A")
        try key.askAhead(use: "sign it", authentication: context)
        try desk.token.logOut()
        _ = try key.sign(context)
        #expect(person.requests.count == 1)
        #expect(desk.pinsSent == 2)
    }

    @Test func `A PIN that another program presented is asked for ahead of long work`() throws {
        let desk = try Desk()
        try Desk(desk.reader).token.verifyPIN(authentication: .owner)
        let person = TypesInTurn("123456")
        let context = context(person)
        let key = try desk.key("9A")
        try key.askAhead(use: "sign it", authentication: context)
        #expect(person.requests.count == 1)
        _ = try key.sign(context)
        #expect(person.requests.count == 1)
    }

    @Test(arguments: ["9A", "9C"]) func `A PIN of an impossible form is found ahead of long work`(key: String) throws {
        let desk = try Desk()
        let given = context(NoPrompter())
        given.setCredential(.of("12"), .pin)
        #expect(throws: KeychainError(.authFailed)) {
            try desk.key(key).askAhead(use: "sign it", authentication: given)
        }
        let script = AnswersByScript("12")
        #expect(throws: KeychainError(.authFailed)) {
            try desk.key(key).askAhead(use: "sign it", authentication: context(script))
        }
        #expect(script.timesAsked == 1)
        #expect(desk.pinsSent == 0)
    }

    @Test func theQuestionSaysWhatForAndWhere() throws {
        let desk = try Desk()
        let person = TypesInTurn("123456", "123456")
        _ = try desk.key("9A").sign(context(person))
        let place = "PIV card 7b13d0e6 in Desk Reader"
        #expect(person.requests[0].sentence == "PIN for '\(place)' to sign it with key 9A, 3 tries left")
        _ = try desk.key("9C").sign(context(person))
        #expect(person.requests[1].subject == place)
    }

    @Test(arguments: [CardProfile.generic, .yubiKey57])
    func aCardIsNamedByItsLabelWhetherOrNotItWasListedBefore(profile: CardProfile) throws {
        let folder = try TemporaryFolder()
        let memory = FileTokenMemory(directory: folder.path("certificates"), limit: FileTokenMemory.certificateLimit)
        let reader = VirtualReader(name: "Desk Reader", card: try TestCard(profile: profile).make())
        func sign(_ memory: FileTokenMemory?) throws -> (subject: String?, commands: [UInt8]) {
            reader.clearLog()
            let token = TokenKeychain(TokenSlot(reader: reader, drivers: [PIVDriver(certificates: memory)]))
            let person = TypesInTurn("123456")
            _ = try #require(try token.keys(.name("9C")).first).sign(context(person))
            return (person.requests.first?.subject, reader.log.map(\.ins))
        }
        let cold = try sign(memory)
        let desk = TokenKeychain(TokenSlot(reader: reader, drivers: [PIVDriver(certificates: memory)]))
        _ = try desk.items(matching: Query(.certificate, limit: .all))
        let label = try #require(try desk.identity()).label
        let warm = try sign(memory)
        let plain = try sign(nil)
        #expect([cold, warm, plain].map(\.subject) == [String](repeating: "\(label) in Desk Reader", count: 3))
        #expect(warm.commands.count < cold.commands.count)
        #expect(plain.commands == cold.commands)
        // A certificate that two cards have names neither of them.
        reader.remove()
        reader.insert(try TestCard(profile: .genericExtended, guid: "00000000000000000000000000000001").make())
        _ = try desk.items(matching: Query(.certificate, limit: .all))
        let other = try #require(try desk.identity()).label
        #expect(other != label)
        #expect(try sign(memory).subject == "\(other) in Desk Reader")
    }

    @Test(arguments: [CardKeyReference.authentication, .signature])
    func aCertificateThatTellsTheCardsNumberNamesItWithoutACommand(slot: CardKeyReference) throws {
        let pair = try TestCard().key(slot)
        let name = slot == .signature ? "9C" : "9A"
        var builder = try CertificateBuilder(
            commonName: "holder", publicKey: pair.publicKey, notBefore: 1_600_000_000, notAfter: 1_900_000_000)
        builder.subjectAlternativeNames = [.uri("urn:uuid:7B13D0E6-1f6e-478e-a0aa-be0f9ad64a6c")]
        let certificate = try builder.selfSigned(by: pair.privateKey)
        let desk = try Desk(TestCard(certificates: [slot: certificate.der]))
        let person = TypesInTurn("123456")
        _ = try desk.key(name).sign(context(person))
        let commands = desk.commands
        #expect(person.requests[0].subject == "PIV card 7b13d0e6 in Desk Reader")
        let plain = try Desk()
        _ = try plain.key(name).sign(context(TypesInTurn("123456")))
        #expect(commands == plain.commands)
        #expect(try desk.token.identity()?.label == "PIV card 7b13d0e6")
    }

    @Test(arguments: [CardProfile.generic, .genericT0, .yubiKey57, .yubiKey43])
    func theSecondSignatureTakesThreeCommandsAtMost(profile: CardProfile) throws {
        let desk = try Desk(TestCard(profile: profile))
        for (name, commands) in [("9A", [0x87]), ("9C", [0xA4, 0x20, 0x87] as [UInt8])] {
            let key = try desk.key(name)
            _ = try key.sign(.owner)
            desk.reader.clearLog()
            _ = try key.sign(.owner)
            #expect(desk.commands == commands, "\(profile.name) \(name): \(desk.reader.log)")
        }
    }

    @Test func theCardIsFreeWhileAPersonIsAsked() throws {
        let desk = try Desk()
        let other = Desk(desk.reader)
        let person = TypesInTurn("123456") { _ = try? other.items(.certificate) }
        _ = try desk.key("9A").sign(context(person))
        #expect(try other.items(.certificate).count == 4)
    }

    @Test func whoGivesUpSendsNothing() throws {
        let desk = try Desk()
        #expect(throws: KeychainError(.userCanceled)) { try desk.key("9A").sign(context(TypesInTurn())) }
        #expect(desk.pinsSent == 0)
    }

    @Test func aResetTakesThePINBack() throws {
        let desk = try Desk()
        let person = TypesInTurn("123456", "123456")
        let key = try desk.key("9A")
        _ = try key.sign(context(person))
        desk.reader.resetByAnotherClient()
        _ = try key.sign(context(person))
        #expect(person.requests.count == 2)
    }

    // MARK: - The last try

    @Test func aScriptNeverSpendsTheLastTry() throws {
        let desk = try Desk(TestCard(pinTries: 1))
        let script = AnswersByScript("123456")
        let error = #expect(throws: KeychainError(.authFailed)) { try desk.key("9A").sign(context(script)) }
        #expect(error?.triesLeft == 1)
        #expect(error?.reason.contains("--last-try") == true)
        #expect(desk.pinsSent == 0)
    }

    @Test func aScriptSpendsItWhenItsOwnerSaidSo() throws {
        let desk = try Desk(TestCard(pinTries: 1))
        _ = try desk.key("9A").sign(context(AnswersByScript("123456"), .spend))
        #expect(desk.pinsSent == 1)
    }

    @Test func aPersonIsAskedWhetherToSpendIt() throws {
        let desk = try Desk(TestCard(pinTries: 1))
        let careful = TypesInTurn("123456", agrees: false)
        #expect(throws: KeychainError(.authFailed)) { try desk.key("9A").sign(context(careful)) }
        #expect(careful.requests.isEmpty)
        #expect(desk.pinsSent == 0)
        let bold = TypesInTurn("123456", agrees: true)
        _ = try desk.key("9A").sign(context(bold))
        #expect(bold.questions.count == 1)
        #expect(bold.requests.first?.sentence.hasSuffix(", last try") == true)
    }

    @Test func whoAgreedOnceHasAgreedToOneTry() throws {
        let card = try TestCard(pinTries: 2).make()
        let desk = Desk(VirtualReader(card: card))
        let person = TypesInTurn("000000", "000001", "000002", "123456", agrees: true)
        let error = #expect(throws: KeychainError(.authFailed)) { try desk.key("9A").sign(context(person)) }
        #expect(person.questions.count == 1)
        #expect(person.requests.count == 2)
        #expect(error?.triesLeft == 0)
        #expect(card.triesLeft == 0)
    }

    @Test func aBlockedCardSaysWhatToDoAndIsStillReadable() throws {
        let desk = try Desk(TestCard(pinTries: 0))
        let person = TypesInTurn("123456", agrees: true)
        let error = #expect(throws: KeychainError(.authFailed)) { try desk.key("9A").sign(context(person, .spend)) }
        #expect(error?.reason.contains("blocked") == true)
        #expect(error?.reason.contains("unblock") == true)
        #expect(error?.triesLeft == 0)
        #expect(person.requests.isEmpty)
        #expect(desk.pinsSent == 0)
        #expect(try desk.items(.certificate).count == 4)
        _ = try desk.key("9E").sign(.nobody)
    }
}
