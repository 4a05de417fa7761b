internal import Localization
internal import SecureBytes

/// A name of an item that programs may keep: it survives updates, restarts, and for a token removal and re-insertion.
///
/// An item that is deleted and added again has a new one (keychain semantics 1.8).
public struct PersistentReference: Sendable, Hashable {
    /// The item's keychain and its name there.
    public enum Target: Sendable, Hashable {
        /// An item of a local keychain.
        case local(UniqueID)
        /// An object of a token, by the token's id and the name its driver gives the object.
        case token(id: String, object: [UInt8])
    }

    /// The class of the item; an identity's reference is its certificate's with this class.
    public let itemClass: ItemClass
    public let target: Target

    /// The maximum size of the token id and the object's name together, in bytes.
    public static let maximumTokenNameLength = 1024

    public init(_ itemClass: ItemClass, _ target: Target) {
        self.itemClass = itemClass
        self.target = target
    }

    /// The reference to the same object taken as another class: to a certificate's identity, or back.
    public func retyped(as itemClass: ItemClass) -> PersistentReference {
        PersistentReference(itemClass, target)
    }

    /// The id of a local item.
    package var localID: UniqueID? {
        if case .local(let id) = target { id } else { nil }
    }

    /// The token's id, if the item is on one.
    public var tokenID: String? {
        if case .token(let id, _) = target { id } else { nil }
    }
}

/// Two encodings: class and id, 20 bytes; or `tkpr`, class, the token id's length in two bytes, token id, object name.
extension PersistentReference {
    private static let tokenMark = Array("tkpr".utf8)

    /// The reference of bytes that ``encoded()`` made.
    ///
    /// - Throws: `errSecInvalidItemRef` for any other bytes.
    public init(parsing bytes: [UInt8]) throws(KeychainError) {
        guard let parsed = Self.parseToken(bytes) ?? Self.parseLocal(bytes) else {
            throw KeychainError(.invalidItemReference, "this is not a persistent reference")
        }
        self = parsed
    }

    /// The bytes to keep, in hexadecimal digits.
    public var hexText: String { Hex.encode(encoded()) }

    /// The bytes to keep.
    public func encoded() -> [UInt8] {
        let code = Array(itemClass.rawValue.utf8)
        switch target {
        case .local(let id): return code + id.bytes
        case .token(let id, let object):
            let name = Array(id.utf8).prefix(Self.maximumTokenNameLength)
            let length = [UInt8(truncatingIfNeeded: name.count >> 8), UInt8(truncatingIfNeeded: name.count)]
            return Self.tokenMark + code + length + name + object.prefix(Self.maximumTokenNameLength - name.count)
        }
    }

    private static func parseLocal(_ bytes: [UInt8]) -> PersistentReference? {
        guard let itemClass = parseClass(bytes.prefix(4)), let id = UniqueID(bytes: bytes.dropFirst(4)) else {
            return nil
        }
        return PersistentReference(itemClass, .local(id))
    }

    private static func parseToken(_ bytes: [UInt8]) -> PersistentReference? {
        guard bytes.starts(with: tokenMark), bytes.count >= 10, bytes.count <= 10 + maximumTokenNameLength,
            let itemClass = parseClass(bytes[4..<8])
        else { return nil }
        let length = Int(bytes[8]) << 8 | Int(bytes[9])
        let names = bytes.dropFirst(10)
        guard names.count >= length, let id = String(validating: names.prefix(length), as: UTF8.self) else {
            return nil
        }
        return PersistentReference(itemClass, .token(id: id, object: Array(names.dropFirst(length))))
    }

    private static func parseClass(_ code: ArraySlice<UInt8>) -> ItemClass? {
        String(validating: code, as: UTF8.self).flatMap { ItemClass(rawValue: $0) }
    }
}

extension PersistentReference {
    /// The name of the object on its token, without the hash of its key; nil for a local item.
    package var objectName: String? {
        guard case .token(_, let object) = target else { return nil }
        return String(decoding: object.prefix { $0 != 0 }, as: UTF8.self)
    }
}
