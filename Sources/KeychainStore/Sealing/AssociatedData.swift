package import KeychainModel

/// The bytes a sealed value is bound to: each part is preceded by its length, so that no two lists of parts have the same bytes.
package struct AssociatedData {
    private(set) var bytes: [UInt8] = []

    /// - Parameter purpose: the kind of the sealed value, with a version of this encoding.
    init(_ purpose: StaticString) {
        append(Array(purpose.description.utf8))
    }

    package init(_ purpose: StaticString, keychain: UniqueID) {
        self.init(purpose)
        append(keychain.bytes)
    }

    package mutating func append(_ part: [UInt8]) {
        append(number: Int64(part.count))
        bytes += part
    }

    mutating func append(number: Int64) {
        for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    /// Adds every attribute with its kind, in the order of their codes.
    mutating func append(_ attributes: Attributes) {
        append(number: Int64(attributes.count))
        for (attribute, value) in attributes.sorted(by: { $0.key < $1.key }) {
            append(Array(attribute.rawValue.utf8))
            switch value {
            case .string(let text): append(kind: 1, text.utf8)
            case .data(let data): append(kind: 2, data)
            case .number(let number): append(kind: 3, number)
            case .bool(let flag): append(kind: 4, CollectionOfOne(flag ? 1 : 0))
            case .date(let seconds): append(kind: 5, seconds)
            }
        }
    }

    private mutating func append(kind: UInt8, _ value: some Collection<UInt8>) {
        append(number: Int64(1 + value.count))
        bytes.append(kind)
        bytes += value
    }

    private mutating func append(kind: UInt8, _ number: Int64) {
        append(number: 9)
        bytes.append(kind)
        append(number: number)
    }
}
