internal import Foundation
internal import KeychainHost
internal import PIVDriver
internal import Synchronization
internal import TokenKit

/// What this process works with. The one place of the target that names the drivers.
enum Keychains {
    static let process = ProcessKeychains {
        [PIVDriver(memory: $0.tokens, certificates: $0.certificates, rejectedPINs: $0.rejectedPINs)]
    }

    /// Who is asked where a call brings no context of its own.
    static var authentication: AuthenticationContext { process.authentication(FirstAvailablePrompter.standard()) }

    /// The keychains as they are now.
    static func session() throws(KeychainError) -> KeychainSession {
        try process.present().session(authentication: authentication)
    }

    static func add(_ attributes: CFDictionary) throws(KeychainError) -> AnyObject? {
        try session().add(ItemDictionary(foundation: attributes))?.object
    }

    static func copyMatching(_ query: CFDictionary) throws(KeychainError) -> AnyObject? {
        try session().copyMatching(ItemDictionary(foundation: query))?.object
    }

    /// The external representation of a private key that a keychain has.
    ///
    /// - Throws: `errSecDataNotAvailable` for one that stays where it is.
    static func data(of item: Item) throws(KeychainError) -> CFData? {
        let query: ItemDictionary = ["v_PersistentRef": .data(item.reference.encoded()), "r_Data": .bool(true)]
        guard case .secret(let shared)? = try session().copyMatching(query) else { return nil }
        return Data(copying: shared.secret)
    }

    static func attributes(of item: Item) -> CFDictionary {
        item.attributes.reduce(into: [:]) { $0[$1.key.rawValue] = ItemValue($1.value).object }
    }
}
