internal import KeychainModel
internal import Foundation
internal import ItemDictionaries
internal import Localization

/// The parameters of a call: the values of its dictionary, and the authentication context that the dictionary has.
struct CallParameters {
    var dictionary: ItemDictionary
    let context: LAContext?

    /// - Throws: `errSecParam`, naming the key, for a value of a wrong kind, and for a credential beside a context.
    init(_ foundation: [String: Any]) throws(KeychainError) {
        context = foundation[kSecUseAuthenticationContext] as? LAContext
        var values = foundation
        if context != nil {
            guard values["u_CredRef"] == nil else {
                throw KeychainError(.param, "there is an authentication context as well", key: "u_CredRef")
            }
            values[kSecUseAuthenticationContext] = nil
        }
        dictionary = try ItemDictionary(foundation: values)
    }

    init(_ dictionary: CFDictionary) throws(KeychainError) {
        try self.init([String: Any](dictionary))
    }
}
