/// The bytes a sealed value is bound to: each part with its length before it, so that no two lists of parts are the same.
struct AssociatedData {
    private(set) var bytes: [UInt8] = []

    /// - Parameter purpose: What is sealed, with a version of this encoding.
    init(_ purpose: StaticString, keychain: UniqueID) {
        append(Array(purpose.description.utf8))
        append(keychain.bytes)
    }

    mutating func append(_ part: [UInt8]) {
        append(number: Int64(part.count))
        bytes += part
    }

    mutating func append(number: Int64) {
        bytes += Self.encode(number)
    }

    /// Adds every attribute with its kind, in the order of their codes.
    mutating func append(_ attributes: Attributes) {
        append(number: Int64(attributes.count))
        for (attribute, value) in attributes.sorted(by: { $0.key < $1.key }) {
            append(Array(attribute.rawValue.utf8))
            switch value {
            case .string(let text): append([1] + Array(text.utf8))
            case .data(let data): append([2] + data)
            case .number(let number): append([3] + Self.encode(number))
            case .bool(let flag): append([4, flag ? 1 : 0])
            case .date(let seconds): append([5] + Self.encode(seconds))
            }
        }
    }

    private static func encode(_ number: Int64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * Int64($0))) }
    }
}
