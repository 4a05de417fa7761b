import Testing

@testable import KeychainModel

@Suite struct PersistentReferenceTests {
    static let references: [PersistentReference] = ItemClass.allCases.flatMap { itemClass in
        [
            PersistentReference(itemClass, .local(UniqueID())),
            PersistentReference(itemClass, .token(id: "piv:0123456789", object: [0x9A, 1, 2, 3])),
            PersistentReference(itemClass, .token(id: "", object: [])),
        ]
    }

    @Test(arguments: references)
    func encodingThenParsingGivesTheSameReference(reference: PersistentReference) throws {
        let bytes = reference.encoded()
        let parsed = try PersistentReference(parsing: bytes)
        #expect(parsed == reference)
        #expect(parsed.encoded() == bytes)
    }

    @Test func aLocalReferenceHasTwentyBytes() {
        #expect(PersistentReference(.key, .local(UniqueID())).encoded().count == 20)
    }

    @Test(
        arguments: [
            [], Array("genp".utf8), Array(repeating: 0, count: 20), Array("tkprgenp".utf8),
            Array("tkprgenp".utf8) + [0, 9, 65],
            Array("tkprgenp".utf8) + [0, 1, 0xFF], Array("abcd".utf8) + Array(repeating: 1, count: 16),
            Array("tkprcert".utf8) + [0, 0] + Array(repeating: 7, count: 1025),
        ] as [[UInt8]])
    func otherBytesAreNoReference(bytes: [UInt8]) {
        #expect(throws: KeychainError(.invalidItemReference)) { try PersistentReference(parsing: bytes) }
    }

    @Test func anIdentitySharesItsCertificatesTarget() {
        let certificate = PersistentReference(.certificate, .local(UniqueID()))
        let identity = certificate.retyped(as: .identity)
        #expect(identity != certificate)
        #expect(identity.retyped(as: .certificate) == certificate)
    }

    @Test func onlyTokenReferencesHaveATokenID() {
        #expect(PersistentReference(.key, .token(id: "piv:1", object: [1])).tokenID == "piv:1")
        #expect(PersistentReference(.key, .local(UniqueID())).tokenID == nil)
    }

    @Test func uniqueIDsRoundTripAndDiffer() {
        let id = UniqueID()
        #expect(UniqueID(bytes: id.bytes) == id)
        #expect(id.bytes.count == 16)
        #expect(id.description.count == 32)
        #expect(id != UniqueID())
        #expect(UniqueID(bytes: [UInt8](repeating: 1, count: 15)) == nil)
        #expect(UniqueID(bytes: Array(0..<16))?.bytes == Array(0..<16))
    }

    @Test func identifiersTellLocalKeychainsFromTokens() {
        #expect(KeychainIdentifier(local: UniqueID()).isLocal)
        #expect(!KeychainIdentifier(rawValue: "piv:0123").isLocal)
    }
}
