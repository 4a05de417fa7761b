internal import HostAPI
internal import KeychainModel
internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

/// An item whose use a person decides about.
package struct AccessItem: Sendable, Hashable {
    /// A text that no other item of its place has, now or later.
    package let key: String
    /// The name, for people.
    package let name: String
    /// Its card or keychain, whose PIN or password opens it: a text that no other one has, even one that calls itself the same.
    package let place: String
    /// The item among those of all places.
    var keyInPlace: String { "\(place) \(key)" }
    /// Whether a keychain in a file has it, in which its decisions are kept.
    let isInFile: Bool

    package init(key: String, name: String, in place: String, isInFile: Bool = false) {
        (self.key, self.name, self.place, self.isInFile) = (key, name, place, isInFile)
    }
}

extension AccessItem {
    init(_ item: Item, in keychain: LocalKeychain) {
        let account = item[.account]?.string.map { " of \($0)" } ?? ""
        self.init(
            key: item.reference.hexText, name: "\(item.journalName)\(account) in \(keychain.name)",
            in: keychain.accessPlace, isInFile: true)
    }

    /// A key of a token. A replaced key is another item.
    init(_ key: TokenObjectID, _ publicKey: [UInt8]?, on place: String, named name: String) {
        let hash = publicKey.flatMap { try? Digest.hash($0, using: .sha256) }.map { Hex.encode($0) } ?? ""
        self.init(key: "\(key) \(hash)", name: "key \(key) of \(name)", in: place)
    }

    init(_ key: TokenKeychainKey) {
        self.init(key.object.id, key.publicKey, on: key.accessPlace, named: key.accessName)
    }
}
