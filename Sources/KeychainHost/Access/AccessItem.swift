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
    let keeper: Keeper

    /// The keychain in which the decisions about an item are kept.
    package enum Keeper: Sendable, Hashable {
        /// The item's own.
        case own
        /// The login keychain, for a key of a token: the key is known by itself, in whatever reader its card is.
        case login(publicKey: [UInt8])
        /// None, for a key that does not tell its public key: the decisions end with the host's process.
        case none
    }

    /// The item in the keychain that keeps its decisions.
    var keptKey: String {
        if case .login(let publicKey) = keeper { "key \(Hex.encode(publicKey))" } else { key }
    }

    package init(key: String, name: String, in place: String, keeper: Keeper = .own) {
        (self.key, self.name, self.place, self.keeper) = (key, name, place, keeper)
    }
}

extension AccessItem {
    init(_ item: Item, in keychain: LocalKeychain) {
        let account = item[.account]?.string.map { " of \($0)" } ?? ""
        self.init(
            key: item.reference.hexText, name: "\(item.journalName)\(account) in \(keychain.name)",
            in: keychain.accessPlace)
    }

    /// A key of a token. A replaced key is another item.
    init(_ key: TokenObjectID, _ publicKey: [UInt8]?, on place: String, named name: String) {
        let hash = publicKey.flatMap { $0.isEmpty ? nil : try? Digest.hash($0, using: .sha256) }
        self.init(
            key: "\(key) \(Hex.encode(hash ?? []))", name: "key \(key) of \(name)", in: place,
            keeper: hash.map { .login(publicKey: $0) } ?? .none)
    }

    init(_ key: TokenKeychainKey) {
        self.init(key.object.id, key.publicKey, on: key.accessPlace, named: key.accessName)
    }
}
