internal import Foundation
internal import HostAPI
internal import HostConnection
internal import ItemDictionaries
internal import KeychainCalls
internal import KeychainModel
internal import SecureBytes

/// The keychains of this process.
enum Keychains {
    static let host = HostConnection.open()

    /// This program, as a caller of the functions of SecKeychain.h.
    static let caller = KeychainCaller(host)

    static let callbacks = KeychainCallbacks(host)

    static var interaction: Interaction { caller.interaction }

    /// The circumstances of a call.
    ///
    /// - Parameter context: the context that the program gives with the call.
    static func request(_ context: LAContext?) -> RequestContext {
        context?.request ?? RequestContext(questions: interaction.isAllowed ? .byHost : .never)
    }

    static func add(_ attributes: [String: Any]) throws(KeychainError) -> AnyObject? {
        let given = try CallParameters(attributes)
        return try host.add(given.dictionary, request(given.context))?.object(used: given.context)
    }

    static func copyMatching(_ query: [String: Any]) throws(KeychainError) -> AnyObject? {
        let given = try CallParameters(query)
        return try copyMatching(given.dictionary, given.context)?.object(used: given.context)
    }

    private static func copyMatching(
        _ query: ItemDictionary, _ context: LAContext?
    ) throws(KeychainError) -> ItemValue? {
        let outcome = try host.copyMatching(query, request(context))
        RefusalLog.note(outcome.missing)
        return outcome.found
    }

    static func delete(_ key: SecKey) throws(KeychainError) {
        guard case .item(let item) = key.material else { return }
        try host.delete(["v_PersistentRef": .data(item.reference.encoded())], request(nil))
    }

    /// The external representation of a private key that a keychain has.
    ///
    /// - Throws: `errSecDataNotAvailable` for a key that cannot leave its keychain.
    static func data(of item: Item, _ context: LAContext?) throws(KeychainError) -> CFData? {
        let query: ItemDictionary = ["v_PersistentRef": .data(item.reference.encoded()), "r_Data": .bool(true)]
        guard case .secret(let shared)? = try copyMatching(query, context) else { return nil }
        return Data(copying: shared.secret)
    }
}
