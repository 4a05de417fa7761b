import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel

@Suite struct UniquenessTests {
    private func add(
        _ keychain: LocalKeychain, _ itemClass: ItemClass, _ attributes: Attributes
    ) throws {
        try keychain.add(NewItem(itemClass, attributes, der: itemClass.isPassword ? nil : [0x30, 0]))
    }

    static let keyBase: Attributes = [
        .keyClass: 0, .applicationLabel: .data([1]), .applicationTag: "t", .creator: 1, .keyType: 42,
        .keySizeInBits: 2048, .effectiveKeySize: 2048, .startDate: .date(1), .endDate: .date(2),
    ]
    static let bases: [(ItemClass, Attributes)] = [
        (.genericPassword, [.account: "a", .service: "s"]),
        (
            .internetPassword,
            [
                .account: "a", .securityDomain: "d", .server: "s", .protocol: "http", .authenticationType: "form",
                .port: 80, .path: "/",
            ]
        ),
        (.certificate, [.certificateType: 3, .issuer: .data([1]), .serialNumber: .data([2])]),
        (.key, keyBase),
    ]

    // Case 23
    @Test(arguments: bases)
    func anEqualItemIsADuplicateAndChangesNothing(itemClass: ItemClass, base: Attributes) throws {
        let test = try TestKeychain()
        try add(test.keychain, itemClass, base)
        #expect(throws: KeychainError(.duplicateItem)) {
            try add(test.keychain, itemClass, base.merging([.label: "other"]) { $1 })
        }
        let items = try test.keychain.items(matching: Query(itemClass, limit: .all)).found
        #expect(items.count == 1)
        #expect(items.first?.label == nil)
    }

    @Test(arguments: bases)
    func anEqualItemThatIsThereIsFoundInsteadOfAdded(itemClass: ItemClass, base: Attributes) throws {
        let test = try TestKeychain()
        func step(_ more: Attributes) throws -> KeychainStep {
            let attributes = base.merging(more) { $1 }
            return .addIfAbsent(try NewItem(itemClass, attributes, der: itemClass.isPassword ? nil : [0x30, 0]))
        }
        let steps = try [step([.label: "first"]), step([.label: "other"]), step([.accessGroup: "g"])]
        let results = try test.keychain.carryOut(steps) { $0 }
        #expect(results.map { $0.added?.label } == ["first", nil, nil] && results.count == 3)
        guard case (.added(let first), .present(let same), .added) = (results[0], results[1], results[2]) else {
            Issue.record("\(results)")
            return
        }
        #expect(same == first)
        #expect(try test.keychain.items(matching: Query(itemClass, limit: .all)).found.count == 2)
    }

    static let differences: [(ItemClass, Attribute, AttributeValue)] = [
        (.genericPassword, .account, "b"), (.genericPassword, .service, "b"), (.genericPassword, .accessGroup, "g"),
        (.genericPassword, .synchronizable, 1), (.internetPassword, .account, "b"),
        (.internetPassword, .securityDomain, "b"), (.internetPassword, .server, "b"),
        (.internetPassword, .protocol, "htps"), (.internetPassword, .authenticationType, "httd"),
        (.internetPassword, .port, 81), (.internetPassword, .path, "/a"), (.internetPassword, .accessGroup, "g"),
        (.internetPassword, .synchronizable, 1), (.certificate, .certificateType, 1),
        (.certificate, .issuer, .data([9])), (.certificate, .serialNumber, .data([9])),
        (.certificate, .accessGroup, "g"), (.certificate, .synchronizable, 1), (.key, .keyClass, 2),
        (.key, .applicationLabel, .data([9])), (.key, .applicationTag, "u"), (.key, .creator, 2), (.key, .keyType, 73),
        (.key, .keySizeInBits, 1024), (.key, .effectiveKeySize, 1024), (.key, .startDate, .date(9)),
        (.key, .endDate, .date(9)), (.key, .accessGroup, "g"), (.key, .synchronizable, 1),
    ]

    // Case 21
    @Test(arguments: differences)
    func anItemThatDiffersInOneUniqueAttributeIsAnother(
        itemClass: ItemClass, attribute: Attribute, value: AttributeValue
    ) throws {
        let test = try TestKeychain()
        let base = try #require(Self.bases.first { $0.0 == itemClass }?.1)
        try add(test.keychain, itemClass, base)
        try add(test.keychain, itemClass, base.merging([attribute: value]) { $1 })
        let query = try Query(itemClass, [.synchronizable: "syna"], limit: .all)
        #expect(try test.keychain.items(matching: query).found.count == 2)
    }

    @Test(arguments: differences)
    func theUniqueValuesOfAnItemFindItAlone(
        itemClass: ItemClass, attribute: Attribute, value: AttributeValue
    ) throws {
        let test = try TestKeychain()
        let base = try #require(Self.bases.first { $0.0 == itemClass }?.1)
        var variants = [base, base.merging([attribute: value]) { $1 }]
        if base[attribute]?.isDefault == false { variants.append(base.filter { $0.key != attribute }) }
        for attributes in variants { try add(test.keychain, itemClass, attributes) }
        for attributes in variants {
            let query = try Query(itemClass, itemClass.uniqueValues(of: attributes), limit: .all)
            let found = try test.keychain.items(matching: query).found
            #expect(found.count == 1)
            #expect(attributes.allSatisfy { found.first?[$0.key] == $0.value })
        }
    }

    @Test(arguments: [Attribute.label, .generic, .itemDescription, .comment, .type])
    func otherAttributesDoNotMakeAnItemAnother(attribute: Attribute) throws {
        let test = try TestKeychain()
        try test.addPassword("a")
        #expect(throws: KeychainError(.duplicateItem)) {
            try test.addPassword("a", [attribute: attribute == .type ? 5 : "different"])
        }
    }

    @Test func absentCountsAsEmpty() throws {
        let test = try TestKeychain()
        try add(test.keychain, .genericPassword, [:])
        #expect(throws: KeychainError(.duplicateItem)) { try add(test.keychain, .genericPassword, [.account: ""]) }
        try add(test.keychain, .key, [:])
        #expect(throws: KeychainError(.duplicateItem)) {
            try add(test.keychain, .key, [.keyClass: 0, .keySizeInBits: 0, .applicationTag: .data([])])
        }
    }

    @Test func textAndTheSameBytesAreEqual() throws {
        let test = try TestKeychain()
        try test.addPassword("a")
        #expect(throws: KeychainError(.duplicateItem)) { try test.addPassword("x", [.account: .data([0x61])]) }
    }

    @Test func everyUniqueAttributeIsTested() {
        for (itemClass, _) in Self.bases {
            let tested = Self.differences.filter { $0.0 == itemClass }.map(\.1)
            #expect(Set(tested) == Set(itemClass.uniqueAttributes))
        }
    }
}
