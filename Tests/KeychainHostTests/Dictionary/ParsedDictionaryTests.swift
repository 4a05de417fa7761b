import SecureBytes
import SystemCrypto
import Testing
import TokenKit

@testable import ItemDictionaries
@testable import KeychainHost
@testable import KeychainModel

/// Keychain semantics 1.1 and 1.7: the keys of a dictionary, and the calls that take them.
@Suite struct ParsedDictionaryTests {
    private typealias Operation = ParsedDictionary.Operation

    private static let all: [ParsedDictionary.Operation] = [.add, .copy, .update, .delete, .change]

    @discardableResult
    private func parse(
        _ dictionary: ItemDictionary, _ operation: ParsedDictionary.Operation = .copy
    ) throws -> ParsedDictionary {
        try ParsedDictionary(dictionary, for: operation)
    }

    // MARK: Keys

    @Test(arguments: ["foo", "m_Unknown", "r_", "v_Unknown", "u_Unknown", "labels", "", "é", "Class"])
    func anUnknownKeyIsNamed(key: String) {
        expect(.param, key: key) { try parse(["class": .string("genp"), key: .bool(true)]) }
    }

    @Test func moreKeysThanThereCanBeAreTooMany() {
        var dictionary: ItemDictionary = [:]
        for number in 0..<129 { dictionary["key \(number)"] = .null }
        expect(.param) { try parse(dictionary) }
    }

    @Test func theClassIsNeededUnlessAReferenceSuppliesIt() throws {
        expect(.param, key: "class") { try parse(["labl": .string("x")]) }
        expect(.noSuchClass, key: "class") { try parse(["class": .string("site")]) }
        expect(.param, key: "class") { try parse(["class": .number(1)]) }
        let reference = PersistentReference(.key, .local(UniqueID()))
        #expect(try parse(["v_PersistentRef": .data(reference.encoded())]).itemClass == .key)
        let key = try PrivateKey.generate(.ecP256)
        #expect(try parse(["v_Ref": .reference(.privateKey(key))]).itemClass == .key)
        expect(.param, key: "class") { try parse(["class": .string("cert"), "v_Ref": .reference(.privateKey(key))]) }
    }

    @Test func aReferenceIsToAnItem() {
        expect(.param, key: "v_Ref") { try parse(["class": .string("cert"), "v_Ref": .string("x")]) }
        expect(.param, key: "v_Ref") { try parse(["class": .string("cert"), "v_Ref": .reference(.policy(.smime))]) }
        expect(.invalidItemReference) { try parse(["v_PersistentRef": .data([1, 2, 3])]) }
        expect(.param, key: "v_PersistentRef") { try parse(["v_PersistentRef": .string("x")]) }
    }

    @Test(arguments: [
        ItemValue.null, .array([]), .dictionary([:]), .reference(.policy(.smime)), .secret(SharedSecret(.of("s"))),
    ])
    func anAttributeIsASimpleValue(value: ItemValue) {
        expect(.param, key: "labl") { try parse(["class": .string("genp"), "labl": value]) }
    }

    // MARK: Where keys are legal

    /// Every key with a value that it can have, and the operations that it is legal in.
    static let matrix: [(String, ItemValue, Set<ParsedDictionary.Operation>)] = [
        ("class", .string("cert"), [.add, .copy, .update, .delete, .change]),
        ("v_Data", .data([1]), [.add, .change]),
        (
            "v_PersistentRef", .data(PersistentReference(.certificate, .local(UniqueID())).encoded()),
            [.copy, .update, .delete]
        ),
        ("m_Limit", .string("m_LimitAll"), [.copy, .update, .delete]), ("m_Limit", .string("m_LimitOne"), [.copy]),
        ("m_Limit", .number(2), [.copy]), ("m_CaseInsensitive", .bool(true), [.copy, .update, .delete]),
        ("m_DiacriticInsensitive", .bool(true), [.copy, .update, .delete]),
        ("m_WidthInsensitive", .bool(true), [.copy, .update, .delete]),
        ("m_SubjectContains", .string("a"), [.copy]), ("m_SubjectStartsWith", .string("a"), [.copy]),
        ("m_SubjectEndsWith", .string("a"), [.copy]), ("m_SubjectWholeString", .string("a"), [.copy]),
        ("m_Issuers", .array([]), [.copy]), ("m_EmailAddressIfPresent", .string("a"), [.copy]),
        ("m_Policy", .reference(.policy(.smime)), [.copy]), ("m_ValidOnDate", .date(1), [.copy]),
        ("m_TrustedOnly", .bool(false), [.copy]), ("m_HostOrSubdomainOfHost", .string("a"), [.copy]),
        ("m_ItemList", .array([]), [.copy, .update, .delete]),
        ("m_SearchList", .array([]), [.copy, .update, .delete]),
        ("r_Data", .bool(true), [.add, .copy]), ("r_Attributes", .bool(true), [.add, .copy]),
        ("r_Ref", .bool(true), [.add, .copy]), ("r_PersistentRef", .bool(true), [.add, .copy]),
        ("r_Provenance", .bool(true), [.add, .copy]),
        ("u_AuthUI", .string("u_AuthUIF"), [.add, .copy, .update, .delete]),
        ("u_AuthUI", .string("u_AuthUIS"), [.copy]),
        ("u_NoAuthUI", .bool(true), [.add, .copy, .update, .delete]),
        ("u_OpPrompt", .string("please"), [.add, .copy, .update, .delete]),
        ("u_LocalOnly", .bool(true), [.copy, .update, .delete]),
        ("u_Distinct", .bool(true), [.copy]), ("u_AbsentTokens", .bool(true), [.copy]),
        ("nleg", .bool(true), [.add, .copy, .update, .delete]),
    ]

    @Test func everyKeyIsLegalWhereTheMatrixSaysSo() {
        for (key, value, legal) in Self.matrix {
            for operation in Self.all {
                let base: ItemDictionary = operation == .change ? [:] : ["class": .string("cert")]
                let dictionary = base.merging([key: value]) { $1 }
                if legal.contains(operation) {
                    #expect(throws: Never.self, "\(key) in \(operation)") { try parse(dictionary, operation) }
                } else {
                    expect(.param, key: key) { try parse(dictionary, operation) }
                }
            }
        }
    }

    @Test func theMatrixKnowsEveryKey() {
        let refused: Set = ["u_CredRef", "u_ItemList"]
        let withAnObject: Set = ["v_Ref", "u_Keychain"]
        #expect(Set(DictionaryKey.table.keys) == Set(Self.matrix.map(\.0)).union(refused).union(withAnObject))
    }

    @Test func aReferenceIsNoChange() throws {
        let key = try PrivateKey.generate(.ecP256)
        expect(.param, key: "v_Ref") { try parse(["v_Ref": .reference(.privateKey(key))], .change) }
    }

    @Test func aKeychainIsForAdding() throws {
        let keychain = KeychainIdentifier(local: UniqueID())
        let dictionary: ItemDictionary = ["class": .string("genp"), "u_Keychain": .reference(.keychain(keychain))]
        #expect(try parse(dictionary, .add).target == keychain)
        expect(.param, key: "u_Keychain") { try parse(dictionary, .copy) }
        expect(.param, key: "u_Keychain") {
            try parse(["class": .string("genp"), "u_Keychain": .string("login")], .add)
        }
    }

    @Test func whatIsNotDoneHereSaysSo() {
        expect(.unimplemented, key: "u_ItemList") { try parse(["class": .string("cert"), "u_ItemList": .array([])]) }
        expect(.unimplemented, key: "u_CredRef") { try parse(["class": .string("cert"), "u_CredRef": .data([1])]) }
    }

    @Test func noAuthenticationUIIsTheOldWordForFailing() throws {
        let query: ItemDictionary = ["class": .string("cert")]
        #expect(try parse(query.merging(["u_NoAuthUI": .bool(true)]) { $1 }).authenticationUI == .fail)
        #expect(try parse(query.merging(["u_NoAuthUI": .bool(false)]) { $1 }).authenticationUI == .allow)
        expect(.param, key: "u_AuthUI") { try parse(query.merging(["u_AuthUI": .string("never")]) { $1 }) }
    }

    @Test func aTokensReferenceMayNameItsToken() throws {
        let reference = PersistentReference(.key, .token(id: "piv:1", object: [1])).encoded()
        #expect(throws: Never.self) { try parse(["v_PersistentRef": .data(reference), "tkid": .string("piv:1")]) }
        expect(.param, key: "acct") { try parse(["v_PersistentRef": .data(reference), "acct": .string("a")]) }
        let local = PersistentReference(.key, .local(UniqueID())).encoded()
        expect(.param, key: "tkid") { try parse(["v_PersistentRef": .data(local), "tkid": .string("piv:1")]) }
    }
}
