import CCryptoki
import CryptokiNames
import SecureBytes
import SystemCrypto
import TestSupport
import Testing

@testable import PKCS11Bridge
@testable import VirtualCard

/// The data objects of a PIV card: only a search that names their class looks for them.
@Suite struct DataObjectTests {
    private static let data = (CKA_CLASS, Encoded.ulong(CKO_DATA))
    private static let face = [UInt8](repeating: 0xBC, count: 5_000)
    private static let open = [
        "Card Capability Container", "Card Holder Unique Identifier", "Security Object", "Discovery Object",
        "Key History Object",
    ]
    private static let closed = ["Cardholder Facial Image", "Printed Information"]

    /// A card with seven data objects, two of which need the PIN.
    private static func card() throws -> VirtualCard {
        let plain = try Cards.plain()
        var contents = plain.contents
        contents.objects[DataObject.security] = [0xBA, 3, 1, 0x30, 0, 0xFE, 0]
        contents.objects[DataObject.keyHistory] = DataObject.keyHistory(onCard: 0)
        contents.objects[DataObject.facialImage] = face
        return VirtualCard(profile: .generic, contents: contents)
    }

    private let card: VirtualCard
    private let module: TestModule
    private let session: CK_SESSION_HANDLE

    init() throws {
        card = try Self.card()
        module = try TestModule(VirtualReader(card: card))
        _ = try module.cryptoki.tokenInfo(module.slots[0])
        session = try module.session()
        module.reader.clearLog()
    }

    private func logIn() throws { try module.cryptoki.logIn(session, CKU_USER, pin: .of("123456")) }

    private func texts(_ objects: [CK_OBJECT_HANDLE], _ type: CK_ATTRIBUTE_TYPE = CKA_LABEL) throws -> [String] {
        try objects.map { String(decoding: try module.value(session, $0, type), as: UTF8.self) }
    }

    private func object(_ label: String) throws -> CK_OBJECT_HANDLE {
        try #require(try module.find(session, Self.data, (CKA_LABEL, Array(label.utf8))).first)
    }

    private var gets: Int { module.reader.commands.count { $0.ins == 0xCB } }

    @Test func aSearchShowsWhatIsOpenWhereAnotherProgramChangedThePIN() throws {
        try logIn()
        let other = try TestModule(module.reader)
        let others = try other.session(loggedIn: true)
        try other.cryptoki.setPIN(others, from: .of("123456"), to: .of("654321"))
        try other.cryptoki.logOut(others)
        #expect(try texts(module.find(session, Self.data)).sorted() == Self.open.sorted())
        #expect(try module.cryptoki.sessionInfo(session).state == CKS_RW_PUBLIC_SESSION)
    }

    // MARK: What they are

    @Test func theyAreFoundByTheirClassUnderTheNamesOfTheSpecification() throws {
        let found = try module.find(session, Self.data)
        #expect(try texts(found).sorted() == Self.open.sorted())
        #expect(try texts(found) == texts(found, CKA_APPLICATION))
        let chuid = try object("Card Holder Unique Identifier")
        #expect(try module.value(session, chuid, CKA_OBJECT_ID) == .init(hex: "060A60864801650307023000"))
        for (type, value) in [(CKA_TOKEN, 1), (CKA_PRIVATE, 0), (CKA_MODIFIABLE, 0), (CKA_DESTROYABLE, 0)] {
            #expect(try module.value(session, chuid, CK_ATTRIBUTE_TYPE(type)) == [UInt8(value)])
        }
        let unique = try found.map { try module.value(session, $0, CKA_UNIQUE_ID) }
        #expect(Set(unique).count == found.count)
    }

    @Test func theirValuesAreWhatTheCardHas() throws {
        try logIn()
        let tags: [(String, TLVTag)] = [
            ("Card Capability Container", DataObject.cardCapability),
            ("Card Holder Unique Identifier", DataObject.cardholderIdentifier),
            ("Security Object", DataObject.security),
            ("Discovery Object", DataObject.discovery), ("Key History Object", DataObject.keyHistory),
            ("Cardholder Facial Image", DataObject.facialImage),
            ("Printed Information", DataObject.printedInformation),
        ]
        for (label, tag) in tags {
            #expect(try module.value(session, object(label), CKA_VALUE) == card.contents.objects[tag], "\(label)")
        }
        let chuid = try #require(card.contents.objects[DataObject.cardholderIdentifier])
        #expect(try texts(module.find(session, Self.data, (CKA_VALUE, chuid))) == ["Card Holder Unique Identifier"])
        #expect(try module.find(session, Self.data, (CKA_VALUE, [1])).isEmpty)
    }

    @Test func theyAreFoundByTheirObjectIdentifier() throws {
        let printed = (CKA_OBJECT_ID, [UInt8](hex: "060A60864801650307023001"))
        #expect(try module.find(session, Self.data, printed).isEmpty)
        try logIn()
        #expect(try texts(module.find(session, Self.data, printed)) == ["Printed Information"])
        #expect(try module.find(session, Self.data, (CKA_OBJECT_ID, [6, 1, 0])).isEmpty)
    }

    @Test func nothingIsWrittenToThem() throws {
        let object = try object("Security Object")
        #expect(returned { try module.cryptoki.destroyObject(session, object) } == CKR_TOKEN_WRITE_PROTECTED)
        let template = Template([(CKA_VALUE, [1])])
        let changed = returned { try module.cryptoki.setAttributes(session, object, to: template) }
        #expect(changed == CKR_TOKEN_WRITE_PROTECTED)
    }

    // MARK: What they cost

    @Test func theFirstSearchForThemCostsACommandForEachThatThereMayBeAndTheNextNone() throws {
        _ = try module.find(session, Self.data)
        #expect(gets == 7)
        try logIn()
        module.reader.clearLog()
        #expect(try texts(module.find(session, Self.data)).sorted() == (Self.open + Self.closed).sorted())
        // Another program may have selected another application: the first that is absent is asked for once more.
        #expect(gets == 5 + 1)
        module.reader.clearLog()
        for _ in 0..<10 { _ = try module.find(session, Self.data) }
        #expect(module.reader.log.isEmpty)
    }

    @Test func aNameOrAnIdNarrowsWhatIsLookedFor() throws {
        _ = try object("Security Object")
        #expect(gets == 1)
        #expect(try module.find(session, Self.data, (CKA_ID, [1])).isEmpty)
        #expect(try module.find(session, Self.data, (CKA_LABEL, Array("PIV Authentication".utf8))).isEmpty)
        #expect(gets == 1)
    }

    @Test func aSmallValueCostsNoCommandAndALargeOneIsReadOnce() throws {
        try logIn()
        _ = try module.find(session, Self.data)
        module.reader.clearLog()
        for label in Self.open { _ = try module.value(session, object(label), CKA_VALUE) }
        #expect(module.reader.log.isEmpty)
        let face = try object("Cardholder Facial Image")
        for _ in 0..<3 { #expect(try module.value(session, face, CKA_VALUE) == Self.face) }
        #expect(gets == 1)
    }

    @Test func aSearchForEverythingShowsThoseThatAreKnownAndLooksForNone() throws {
        _ = try module.find(session, (CKA_CLASS, Encoded.ulong(CKO_CERTIFICATE)))
        module.reader.clearLog()
        let before = try Set(texts(module.find(session)))
        #expect(module.reader.log.isEmpty)
        #expect(before.isSuperset(of: ["Card Holder Unique Identifier", "Key History Object", "PIV Authentication"]))
        #expect(!before.contains("Security Object"))
        #expect(try module.find(session, (CKA_VALUE, [0xBA, 3, 1, 0x30, 0, 0xFE, 0])).isEmpty)
        _ = try module.find(session, Self.data)
        #expect(try Set(texts(module.find(session))).isSuperset(of: Self.open))
    }

    // MARK: The PIN

    @Test func whatWantsThePINIsHiddenUntilTheLoginAndAfterIt() throws {
        try logIn()
        let printed = try object("Printed Information")
        #expect(try module.value(session, printed, CKA_PRIVATE) == [1])
        _ = try module.value(session, printed, CKA_VALUE)
        try module.cryptoki.logOut(session)
        #expect(returned { _ = try module.value(session, printed, CKA_VALUE) } == CKR_OBJECT_HANDLE_INVALID)
        #expect(try texts(module.find(session, Self.data)).sorted() == Self.open.sorted())
        #expect(try Set(texts(module.find(session))).isDisjoint(with: Self.closed))
        // The module has not kept the value.
        try logIn()
        module.reader.clearLog()
        _ = try module.value(session, object("Printed Information"), CKA_VALUE)
        #expect(gets == 1)
    }

    @Test func theCardIsToldThePINAgainWhereAnotherProgramTookItBack() throws {
        try logIn()
        module.reader.resetByAnotherClient()
        #expect(try texts(module.find(session, Self.data)).contains("Printed Information"))
        let face = try object("Cardholder Facial Image")
        module.reader.resetByAnotherClient()
        #expect(try module.value(session, face, CKA_VALUE) == Self.face)
    }

    @Test func aProgramThatSeesNothingOfLoginsSeesNothingThatWantsThePIN() throws {
        let own = try TestModule(VirtualReader(card: card), promptPolicy: PromptPolicy(asksItself: true))
        let session = try own.session()
        #expect(try own.find(session, Self.data).count == Self.open.count)
        #expect(own.reader.pinsSent == 0)
    }

    // MARK: Cards that come and go

    @Test func aValueOfACardThatIsOutIsNotToBeHadAndIsReadAnewWhenItIsBack() throws {
        let security = try object("Security Object")
        let value = try module.value(session, security, CKA_VALUE)
        module.reader.remove()
        #expect(returned { _ = try module.value(session, security, CKA_VALUE) } == CKR_DEVICE_REMOVED)
        #expect(returned { _ = try module.find(session, Self.data) } == CKR_DEVICE_REMOVED)
        module.reader.insert(card)
        #expect(try module.value(session, security, CKA_VALUE) == value)
        #expect(try object("Security Object") == security)
    }

    @Test func whatWantsThePINIsGoneWithTheCard() throws {
        try logIn()
        let printed = try object("Printed Information")
        module.reader.remove()
        module.reader.insert(card)
        #expect(try module.find(session, Self.data).count == Self.open.count)
        #expect(returned { _ = try module.value(session, printed, CKA_VALUE) } == CKR_OBJECT_HANDLE_INVALID)
    }

    @Test func theHandleOfOneCardsObjectReadsNothingOfAnother() throws {
        let security = try object("Security Object")
        module.reader.insert(try Self.card())
        #expect(returned { _ = try module.value(session, security, CKA_VALUE) } == CKR_SESSION_HANDLE_INVALID)
        let next = try module.session()
        #expect(returned { _ = try module.value(next, security, CKA_VALUE) } == CKR_OBJECT_HANDLE_INVALID)
    }
}
