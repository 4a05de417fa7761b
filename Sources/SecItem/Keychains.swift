internal import KeychainModel
internal import Foundation
internal import KeychainHost
internal import HostConnection
internal import Synchronization
internal import TokenKit

/// The keychains of this process.
enum Keychains {
    static let process = HostConnection.process()

    static let interaction = Interaction()

    /// Who is asked where a call brings no context of its own: once for all guarded items of the call.
    static var authentication: AuthenticationContext {
        let context =
            interaction.isAllowed
            ? process.authentication(FirstAvailablePrompter.standard()) : process.authentication()
        return context.rememberingPresence()
    }

    /// The keychains as they are now.
    ///
    /// - Parameter context: who is asked, where the call says it.
    static func session(_ context: LAContext? = nil) throws(KeychainError) -> KeychainSession {
        try process.present().session(authentication: context?.authentication ?? authentication)
    }

    static func add(_ attributes: [String: Any]) throws(KeychainError) -> AnyObject? {
        let given = try CallParameters(attributes)
        return try session(given.context).add(given.dictionary)?.object(used: given.context)
    }

    static func copyMatching(_ query: [String: Any]) throws(KeychainError) -> AnyObject? {
        var given = try CallParameters(query)
        if let reason = given.context?.localizedReason, !reason.isEmpty {
            given.dictionary[kSecUseOperationPrompt] = given.dictionary[kSecUseOperationPrompt] ?? .string(reason)
        }
        return try copyMatching(given.dictionary, given.context)?.object(used: given.context)
    }

    private static func copyMatching(
        _ query: ItemDictionary, _ context: LAContext?
    ) throws(KeychainError) -> ItemValue? {
        let outcome = try session(context).copyMatching(query)
        RefusalLog.note(outcome.missing)
        return outcome.found
    }

    static func delete(_ key: SecKey) throws(KeychainError) {
        guard case .item(let item) = key.material else { return }
        try session().delete(["v_PersistentRef": .data(item.reference.encoded())])
    }

    /// The external representation of a private key that a keychain has.
    ///
    /// - Throws: `errSecDataNotAvailable` for one that stays where it is.
    static func data(of item: Item, _ context: LAContext?) throws(KeychainError) -> CFData? {
        let query: ItemDictionary = ["v_PersistentRef": .data(item.reference.encoded()), "r_Data": .bool(true)]
        guard case .secret(let shared)? = try copyMatching(query, context) else { return nil }
        return Data(copying: shared.secret)
    }
}
