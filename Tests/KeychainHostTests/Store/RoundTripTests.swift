import SecureBytes
import Testing

@testable import KeychainHost
@testable import KeychainModel

/// A generator (SplitMix64) with the same numbers in every run, so that a failure can be reproduced.
private struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

extension AttributeType {
    /// One of few values, so that queries often match items.
    fileprivate func value(_ generator: inout SeededGenerator) -> AttributeValue {
        let texts =
            self == .code
            ? ["", "http", "ftp ", "' OR"] : ["", "a", "A", "é", "e\u{301}", "a\0b", "' OR 1 --", "\u{1F511}"]
        let text = texts.randomElement(using: &generator) ?? ""
        switch self {
        case .code: return .string(text)
        case .opaque: return .data(Array(text.utf8))
        case .string, .data: return Bool.random(using: &generator) ? .string(text) : .data(Array(text.utf8))
        case .number: return .number([0, 1, -1, .min, .max].randomElement(using: &generator) ?? 0)
        case .boolean: return .bool(Bool.random(using: &generator))
        case .date: return .date([0, 1, 1_700_000_000, -1].randomElement(using: &generator) ?? 0)
        }
    }
}

@Suite struct RoundTripTests {
    static let classes: [ItemClass] = [.genericPassword, .internetPassword, .certificate, .key]

    /// Attributes that do not take any value.
    private static let fixed: Set<Attribute> = [
        .tokenID, .accessible, .synchronizable, .modificationDate, .accessControl, .isExtractable, .isSensitive,
        .wasNeverExtractable, .wasAlwaysSensitive,
    ]

    private func attributes(
        of itemClass: ItemClass, for use: AttributeDefinition.Uses, probability: Double,
        _ generator: inout SeededGenerator
    ) -> Attributes {
        var result: Attributes = [:]
        // A change cannot set attributes that follow from the item's data.
        let fixed = Self.fixed.union(use == .change ? itemClass.namesOfData : [])
        for row in itemClass.definitions where row.uses.contains(use) && !fixed.contains(row.attribute) {
            guard Double.random(in: 0..<1, using: &generator) < probability else { continue }
            result[row.attribute] = row.type.value(&generator)
        }
        return result
    }

    /// Fills a keychain with items of random attributes, without duplicates.
    private func fill(_ test: TestKeychain, _ itemClass: ItemClass, _ generator: inout SeededGenerator) throws -> [Item]
    {
        var items: [Item] = []
        for number in 0..<60 {
            let attributes = attributes(of: itemClass, for: .add, probability: 0.4, &generator)
            do {
                let secret = Secret.of("secret \(number)")
                items.append(try test.keychain.add(NewItem(itemClass, attributes, der: [0x30, 0], secret: secret)))
            } catch {
                #expect(error == KeychainError(.duplicateItem))
            }
        }
        return items
    }

    @Test(arguments: classes)
    func whateverIsStoredComesBackAndOpens(itemClass: ItemClass) throws {
        var generator = SeededGenerator(state: 1)
        let test = try TestKeychain()
        let items = try fill(test, itemClass, &generator)
        #expect(items.count > 25)
        let other = try test.reopened()
        try other.unlock(password: .of("correct"))
        let found = try other.items(matching: Query(itemClass, [.synchronizable: "syna"], limit: .all))
        #expect(found.found == items)
        #expect(found.missing.isEmpty)
        for item in found.found { #expect(try other.secretText(item.reference)?.hasPrefix("secret ") == true) }
    }

    @Test(arguments: classes)
    func anyQueryFindsThroughSQLWhatThePredicateAccepts(itemClass: ItemClass) throws {
        var generator = SeededGenerator(state: 2)
        let test = try TestKeychain()
        let items = try fill(test, itemClass, &generator)
        var hits = 0
        for _ in 0..<300 {
            let wanted = attributes(of: itemClass, for: .find, probability: 0.06, &generator)
            let folds = wanted[.label] != nil && Bool.random(using: &generator)
            let query = try Query(itemClass, wanted, folding: folds ? .case : [], limit: .all)
            let found = try test.keychain.items(matching: query).found
            #expect(found == items.filter(query.matches), "\(wanted)")
            hits += found.count
        }
        #expect(hits > 300, "queries that find nothing prove nothing")
    }

    @Test(arguments: classes)
    func everyItemIsFoundByItsOwnAttributes(itemClass: ItemClass) throws {
        var generator = SeededGenerator(state: 3)
        let test = try TestKeychain()
        for item in try fill(test, itemClass, &generator) {
            let query = try Query(itemClass, item.attributes, limit: .all)
            #expect(try test.keychain.items(matching: query).found.contains(item))
        }
    }

    @Test(arguments: classes)
    func anUpdateLeavesTheRestAsItWas(itemClass: ItemClass) throws {
        var generator = SeededGenerator(state: 4)
        let test = try TestKeychain(clock: { 5 })
        let items = try fill(test, itemClass, &generator)
        for item in items {
            let changes = attributes(of: itemClass, for: .change, probability: 0.2, &generator)
            guard !changes.isEmpty else { continue }
            let secret = try test.secretText(item)
            let expected = item.attributes.merging(try itemClass.checked(changes)) { $1 }
            do throws(KeychainError) {
                try test.keychain.update(matching: Query(item.reference), to: ItemChanges(changes))
                let found = try test.keychain.items(matching: Query(item.reference)).found.first
                #expect(found?.attributes == expected)
            } catch {
                #expect(error == KeychainError(.duplicateItem))
            }
            #expect(try test.secretText(item) == secret)
        }
    }
}
