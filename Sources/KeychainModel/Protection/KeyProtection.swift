internal import Localization

/// The protection of a private or symmetric key, which a copy of the key must have as well. Keychain semantics 2.3 and 3.2.
package struct KeyProtection {
    private let attributes: Attributes

    /// - Parameter attributes: the key's.
    package init(of attributes: Attributes) {
        let isSymmetric = attributes[.keyClass].map { KeyClass.symmetric.value.matches($0) } ?? false
        self.attributes = attributes.filter {
            Self.copied.contains($0.key) || isSymmetric && Self.publicUses.contains($0.key)
        }
    }

    private static let uses: [Attribute] = [.canSign, .canDecrypt, .canDerive, .canUnwrap]
    /// The uses of a pair's public half, and of a symmetric key.
    private static let publicUses: Set<Attribute> = [.canEncrypt, .canVerify, .canWrap]
    private static let copied = Set(
        uses + [.isExtractable, .isSensitive, .wasAlwaysSensitive, .accessible, .accessControl])

    /// The attributes of a copy: the given ones, and the original's protection where they leave it out.
    ///
    /// - Throws: `errSecReadOnlyAttr`, naming the attribute, where the copy would be less protected.
    package func strengthened(by given: Attributes) throws(KeychainError) -> Attributes {
        let given = try ItemClass.key.checkedForStorage(given, for: .add)
        let loosened = attributes.keys.sorted().first { attribute in
            guard let old = attributes[attribute], let new = given[attribute] else { return false }
            return Self.isLooser(attribute, new, than: old)
        }
        if let loosened {
            throw KeychainError(
                .readOnlyAttribute, "a copy of a key cannot be protected less than the key",
                remedy: "leave out \(loosened)", key: loosened.rawValue)
        }
        return attributes.merging(given) { $1 }
    }

    private static func isLooser(_ attribute: Attribute, _ new: AttributeValue, than old: AttributeValue) -> Bool {
        switch attribute {
        case .accessControl: !new.matches(old)
        case .accessible: Accessibility.isLooser(new, than: old)
        case .isSensitive: old.isTrue && !new.isTrue
        default: new.isTrue && !old.isTrue
        }
    }
}

extension Accessibility {
    /// Whether items with the new value are readable in more cases, or in more places, than with the old one.
    fileprivate static func isLooser(_ new: AttributeValue, than old: AttributeValue) -> Bool {
        func rank(_ value: AttributeValue) -> Int {
            switch value {
            case whenPasscodeSet: 3
            case _ where whileUnlocked.contains(value): 2
            case "ck", "cku": 1
            default: 0
            }
        }
        return rank(new) < rank(old) || (thisDeviceOnly.contains(old) && !thisDeviceOnly.contains(new))
    }
}
