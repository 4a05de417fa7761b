import CCryptoki
import CryptokiNames
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import PKCS11Bridge

/// A card as a token: what programs see of it, and what that costs.
@Suite struct CardTokenTests {
    @Test func everyReaderIsASlotAndOnlyThoseWithACardHaveAToken() throws {
        let module = try TestModule(
            VirtualReader(name: "One", card: try Cards.plain()), VirtualReader(name: "Two"))
        #expect(module.cryptoki.slotList(withToken: false, refreshing: true).count == 2)
        #expect(module.slots.count == 1)
        #expect(try module.cryptoki.slotInfo(module.slots[0]).name.description == "One")
        #expect(module.readers.allSatisfy { $0.log.isEmpty })
    }

    @Test func aReadersSlotHasTheSameIdInEveryProcess() throws {
        let first = try TestModule(VirtualReader(name: "One", card: try Cards.plain()))
        let second = try TestModule(VirtualReader(name: "Other"), VirtualReader(name: "One", card: try Cards.plain()))
        #expect(first.slots == second.slots)
    }

    @Test func theTokensInformationIsTheCards() throws {
        let module = try TestModule(VirtualReader(card: try Cards.mixed()))
        let token = try module.cryptoki.tokenInfo(module.slots[0])
        #expect(token.name.label == "YubiKey 5 7654321")
        #expect(token.name.manufacturer == "Yubico")
        #expect(token.name.serialNumber == "7654321")
        #expect(token.pinLengths == 6...8)
        let expected = CKF_TOKEN_INITIALIZED | CKF_LOGIN_REQUIRED | CKF_USER_PIN_INITIALIZED | CKF_WRITE_PROTECTED
        #expect(token.flags & expected == expected)
        #expect(token.flags & (CKF_USER_PIN_COUNT_LOW | CKF_USER_PIN_FINAL_TRY | CKF_USER_PIN_LOCKED) == 0)
    }

    /// The firmware costs a command, which is sent only for a listing of the card, or for an answer that depends on it.
    @Test(arguments: [true, false])
    func theFirmwareIsToldOnceTheDriverKnowsIt(isListed: Bool) throws {
        let reader = VirtualReader(card: try Cards.mixed())
        let module = try TestModule(reader)
        let slot = try #require(module.slots.first)
        func version() throws -> [UInt8] {
            let version = try module.cryptoki.tokenInfo(slot).firmware
            return [version.major, version.minor]
        }
        #expect(try version() == [0, 0])
        if isListed { _ = try module.find(module.session()) } else { _ = try module.cryptoki.mechanisms(slot) }
        #expect(try version() == [5, 7])
        let next = try TestModule(reader, sharing: module)
        let told = try next.cryptoki.tokenInfo(try #require(next.slots.first)).firmware
        #expect([told.major, told.minor] == (isListed ? [5, 7] : [0, 0]))
    }

    @Test func aCardWithoutASerialNumberHasThatOfItsGUID() throws {
        var builder = VirtualCardBuilder(profile: .generic, fourKeys: .p256)
        builder.guid = Array(0..<16)
        let module = try TestModule(VirtualReader(card: try builder.build()))
        #expect(try module.cryptoki.tokenInfo(module.slots[0]).name.serialNumber == "08090a0b0c0d0e0f")
    }

    @Test func certificatesAndPublicKeysAreFoundWithoutALoginInTheOrderOfTheSlots() throws {
        let module = try TestModule(VirtualReader(card: try Cards.mixed()))
        let session = try module.session()
        for objectClass in [CKO_CERTIFICATE, CKO_PUBLIC_KEY] {
            let found = try module.find(session, (CKA_CLASS, Encoded.ulong(objectClass)))
            #expect(try found.map { try module.value(session, $0, CKA_ID) } == [[1], [2], [3], [4]])
            let labels = try found.map { String(decoding: try module.value(session, $0, CKA_LABEL), as: UTF8.self) }
            #expect(labels == ["PIV Authentication", "Digital Signature", "Key Management", "Card Authentication"])
        }
    }

    @Test func privateKeysAreFoundAfterALoginSaveOneThatNeverWantsThePIN() throws {
        let module = try TestModule(VirtualReader(card: try Cards.mixed()))
        let session = try module.session()
        let wanted = (CKA_CLASS, Encoded.ulong(CKO_PRIVATE_KEY))
        let before = try module.find(session, wanted)
        #expect(try before.map { try module.value(session, $0, CKA_ID) } == [[4]])
        try module.cryptoki.logIn(session, CKU_USER, pin: .of("123456"))
        let keys = try module.find(session, wanted)
        #expect(try keys.map { try module.value(session, $0, CKA_ID) } == [[1], [2], [3], [4]])
        #expect(keys.last == before.first)
        let always = try keys.map { try module.value(session, $0, CKA_ALWAYS_AUTHENTICATE) }
        #expect(always == [[0], [1], [0], [0]])
    }

    @Test func aSearchCostsNoCommandOnceTheCardHasBeenRead() throws {
        let module = try TestModule(VirtualReader(card: try Cards.mixed()))
        let session = try module.session()
        _ = try module.find(session)
        _ = try module.find(session, (CKA_CLASS, Encoded.ulong(CKO_DATA)))
        module.reader.clearLog()
        for _ in 0..<100 {
            for objectClass in [CKO_CERTIFICATE, CKO_PUBLIC_KEY, CKO_PRIVATE_KEY, CKO_DATA, CKO_PROFILE, 0xCE53_4353] {
                _ = try module.find(session, (CKA_CLASS, Encoded.ulong(objectClass)), (CKA_TOKEN, [1]))
            }
            _ = try module.find(session, (CKA_ID, [2]))
            _ = try module.find(session)
        }
        #expect(module.reader.log.isEmpty)
    }

    @Test func unknownClassesFindNothingAndReadNothing() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        let session = try module.session()
        module.reader.clearLog()
        for objectClass: CK_ULONG in [0xCE53_4353, 0xCE53_4351, 77, .max] {
            #expect(try module.find(session, (CKA_CLASS, Encoded.ulong(objectClass))).isEmpty)
        }
        #expect(module.reader.log.isEmpty)
    }

    @Test func lookingForOneIdReadsOneSlot() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        let session = try module.session()
        module.reader.clearLog()
        #expect(try module.find(session, (CKA_CLASS, Encoded.ulong(CKO_CERTIFICATE)), (CKA_ID, [2])).count == 1)
        #expect(module.reader.commands.count == 1)
    }

    @Test func aBadAttributeDoesNotSpoilTheOthers() throws {
        let module = try TestModule(VirtualReader(card: try Cards.mixed()))
        let session = try module.session(loggedIn: true)
        let key = try module.key(session, [1])
        #expect(returned { _ = try module.value(session, key, CKA_PRIVATE_EXPONENT) } == CKR_ATTRIBUTE_SENSITIVE)
        #expect(returned { _ = try module.value(session, key, CKA_EC_POINT) } == CKR_ATTRIBUTE_TYPE_INVALID)
        #expect(try module.value(session, key, CKA_MODULUS).count == 256)
        #expect(try module.value(session, key, CKA_EXTRACTABLE) == [0])
    }

    @Test func handlesCountUpAndStayWithTheirObjects() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        let session = try module.session()
        let first = try module.find(session)
        #expect(first == first.sorted())
        #expect(try module.find(session) == first)
        let other = try module.session()
        #expect(try module.find(other) == first)
    }

    @Test func aCardIsOnlyRead() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        let session = try module.session(loggedIn: true)
        let certificate = try module.key(session, [1], CKO_CERTIFICATE)
        let template = Template([(CKA_TOKEN, [1]), (CKA_CLASS, Encoded.ulong(CKO_DATA))])
        #expect(returned { _ = try module.cryptoki.createObject(session, template) } == CKR_TOKEN_WRITE_PROTECTED)
        #expect(returned { try module.cryptoki.destroyObject(session, certificate) } == CKR_TOKEN_WRITE_PROTECTED)
        let label = Template([(CKA_LABEL, [65])])
        #expect(
            returned { try module.cryptoki.setAttributes(session, certificate, to: label) } == CKR_TOKEN_WRITE_PROTECTED
        )
        #expect(try module.find(session, (CKA_CLASS, Encoded.ulong(CKO_CERTIFICATE))).count == 4)
    }

    @Test func aModuleNamedAfterATokenShowsNoOther() throws {
        let login = try TestModule(filter: TokenFilter(path: "/usr/lib/libtokenkit-pkcs11-login.so", variable: nil))
        _ = try login.keychain()
        _ = try login.keychain("work")
        #expect(try login.slots.map { try login.cryptoki.tokenInfo($0).name.label } == ["login"])
        let cards = try TestModule(
            VirtualReader(card: try Cards.mixed()),
            filter: TokenFilter(path: "libtokenkit-pkcs11-cards.so", variable: nil))
        _ = try cards.keychain()
        #expect(cards.slots.count == 1)
        let other = try TestModule(VirtualReader(card: try Cards.mixed()), filter: TokenFilter(words: ["1"]))
        #expect(other.slots.isEmpty)
        let own = try TestModule(
            VirtualReader(card: try Cards.mixed()), filter: TokenFilter(path: nil, variable: "1,7654321"))
        #expect(own.slots.count == 1)
    }

    @Test(arguments: [
        ("7654321,login", ["7654321", "login"]), ("7654321, login", ["7654321", "login"]), (" login ", ["login"]),
        ("login,", ["login"]), ("1,", []), ("keychains,", ["login"]), (",", []), (",cards", ["7654321"]),
    ])
    func emptyWordsOfTheVariableNameNoCard(variable: String, shown: [String]) throws {
        let module = try TestModule(
            VirtualReader(card: try Cards.mixed()), filter: TokenFilter(path: nil, variable: variable))
        _ = try module.keychain()
        let labels = try module.slots.map { try module.cryptoki.tokenInfo($0).name.label }
        #expect(labels.contains("login") == shown.contains("login"))
        #expect(labels.count == shown.count)
    }

    @Test func whoKnowsTheSlotOfACardThatIsNotShownDoesNotGetAtIt() throws {
        let module = try TestModule(VirtualReader(card: try Cards.mixed()), filter: TokenFilter(words: ["login"]))
        let slot = try #require(module.cryptoki.slotList(withToken: false, refreshing: true).first)
        #expect(returned { _ = try module.cryptoki.tokenInfo(slot) } == CKR_TOKEN_NOT_PRESENT)
        #expect(
            returned { _ = try module.cryptoki.openSession(slot, flags: CKF_SERIAL_SESSION) } == CKR_TOKEN_NOT_PRESENT)
        #expect(module.reader.pinsSent == 0)
    }

    @Test(arguments: [
        ("7654321,login", ["7654321", "login"]), ("7654321, login", ["7654321", "login"]), (" login ", ["login"]),
        ("\tlogin\n,", ["login"]), ("work place, login", ["login"]), (" ", []), (",", []), (" , ", []),
    ])
    func wordsOfTheVariableMayHaveBlanksAroundThem(variable: String, shown: [String]) {
        let filter = TokenFilter(path: nil, variable: variable)
        #expect(filter.wants(card: "7654321") == shown.contains("7654321"))
        #expect(filter.wants(keychain: "login") == shown.contains("login"))
        #expect(!filter.wants(card: "") && !filter.wants(keychain: ""))
        #expect(!filter.wants(card: "1") && !filter.wants(keychain: "other"))
        #expect(filter.wants(keychain: "work place") == variable.contains("work place"))
    }

    @Test(
        arguments: [
            (0, "19700101"), (951_782_400, "20000229"), (1_700_000_000, "20231114"), (-86_401, "19691230"),
            (253_402_300_799, "99991231"), (253_402_300_800, ""),
        ] as [(Int64, String)])
    func datesAreThoseOfTheCalendar(seconds: Int64, date: String) {
        #expect(String(decoding: Encoded.date(seconds), as: UTF8.self) == date)
    }

    // MARK: What keys on curves are for

    private func uses(
        _ module: TestModule, _ session: CK_SESSION_HANDLE, _ id: [UInt8]
    ) throws -> (signs: Bool, derives: Bool, publicDerives: Bool) {
        let (key, publicKey) = (try module.key(session, id), try module.key(session, id, CKO_PUBLIC_KEY))
        return (
            try module.value(session, key, CKA_SIGN) == [1], try module.value(session, key, CKA_DERIVE) == [1],
            try module.value(session, publicKey, CKA_DERIVE) == [1]
        )
    }

    @Test(arguments: [CardProfile.yubiKey57, .generic])
    func aSignatureKeyOnACurveDoesNotDeriveAndAKeyManagementKeyDoesNotSign(profile: CardProfile) throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain(.p256, profile)))
        let session = try module.session(loggedIn: true)
        #expect(try uses(module, session, [2]) == (true, false, false))
        #expect(try uses(module, session, [3]) == (false, true, true))
        let digest = [UInt8](repeating: 1, count: 32)
        let (signer, agreer) = (try module.key(session, [2]), try module.key(session, [3]))
        let signed = returned { _ = try module.sign(session, MechanismRequest(CKM_ECDSA), agreer, digest) }
        #expect(signed == CKR_KEY_FUNCTION_NOT_PERMITTED)
        let request = MechanismRequest(
            CKM_ECDH1_DERIVE,
            .agreement(
                kdf: CKD_NULL, sharedInfo: [], publicData: try module.publicKey(session, [3]).rawRepresentation))
        let derived = returned { _ = try module.cryptoki.deriveKey(session, request, base: signer, Template()) }
        #expect(derived == CKR_KEY_FUNCTION_NOT_PERMITTED)
        // RSA keys are not affected.
        let rsa = try TestModule(VirtualReader(card: try Cards.plain(.rsa2048, profile)))
        let other = try rsa.session(loggedIn: true)
        #expect(try uses(rsa, other, [2]) == (true, false, false))
        #expect(try uses(rsa, other, [3]) == (true, false, false))
    }

    @Test(arguments: [KeyUsage.digitalSignature, .nonRepudiation, .keyAgreement, []])
    func aKeyManagementKeyOnACurveSignsWhereItsCertificateSaysSo(usage: KeyUsage) throws {
        let folder = try TemporaryFolder()
        let key = try PrivateKey.generate(.ecP256)
        var builder = try CertificateBuilder(
            commonName: "Jo", publicKey: key.publicKey, notBefore: 1_600_000_000, notAfter: 1_900_000_000)
        builder.keyUsage = usage
        let certificate = try builder.selfSigned(by: key)
        try folder.write("keymgmt-9d.crt", certificate.der)
        try folder.write(
            "keymgmt-9d.p12",
            PKCS12.create([.init(key, certificate)], password: Secret(capacity: 0) { _ in }, iterations: 1))
        let card = try CardImage.load(folder.path).makeCard(profile: .yubiKey57)
        let signs = !usage.isDisjoint(with: [.digitalSignature, .nonRepudiation])
        for isListed in [false, true] {
            // A search for the private key alone knows of the certificate as well.
            let module = try TestModule(VirtualReader(card: card))
            let session = try module.session(loggedIn: true)
            if isListed { _ = try module.find(session) }
            #expect(try uses(module, session, [3]) == (signs, true, true))
        }
    }
}
