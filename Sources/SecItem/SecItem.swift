public import Foundation
internal import HostAPI
internal import ItemDictionaries
internal import KeychainCalls
internal import KeychainModel
internal import Localization

/// Finds items in all keychains: on inserted cards, then in the files of the search list.
///
/// - Parameter result: receives the results that the query's `kSecReturn…` keys ask for; unchanged if they ask for none.
@discardableResult
public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    status { () throws(KeychainError) in
        let query = try [String: Any](query)
        try unsafe requirePlace(for: query, result)
        if let found = try Keychains.copyMatching(query) { unsafe result?.pointee = found }
    }
}

/// Adds an item to the default keychain, or the one of ``kSecUseKeychain``.
///
/// - Parameter result: receives the results that the `kSecReturn…` keys ask for; nil drops them.
@discardableResult
public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    status { () throws(KeychainError) in
        if let added = try Keychains.add([String: Any](attributes)) { unsafe result?.pointee = added }
    }
}

/// Changes all items that a query finds, or none of them.
@discardableResult
public func SecItemUpdate(_ query: CFDictionary, _ attributesToUpdate: CFDictionary) -> OSStatus {
    status { () throws(KeychainError) in
        let given = try CallParameters(query)
        let outcome = try Keychains.host.update(
            given.dictionary, to: ItemDictionary(foundation: attributesToUpdate), Keychains.request(given.context))
        RefusalLog.note(outcome.missing)
    }
}

/// Deletes all items that a query finds, or none of them.
@discardableResult
public func SecItemDelete(_ query: CFDictionary) -> OSStatus {
    status { () throws(KeychainError) in
        let given = try CallParameters(query)
        RefusalLog.note(try Keychains.host.delete(given.dictionary, Keychains.request(given.context)).missing)
    }
}

/// Checks that a dictionary that asks for results comes with a place for them.
private func requirePlace(
    for dictionary: [String: Any], _ result: UnsafeMutablePointer<CFTypeRef?>?
) throws(KeychainError) {
    let returns = [kSecReturnData, kSecReturnAttributes, kSecReturnRef, kSecReturnPersistentRef]
    guard unsafe result == nil, let key = returns.first(where: { dictionary[$0] as? Bool == true }) else { return }
    throw KeychainError(.param, "there is no place for the result", key: key)
}

/// Runs `body`, and returns its result code.
///
/// - Parameter function: the function that the program called, for the log.
func status(_ function: StaticString = #function, _ body: () throws(KeychainError) -> Void) -> OSStatus {
    do throws(KeychainError) {
        try body()
        return errSecSuccess
    } catch {
        RefusalLog.note(function, error)
        return error.status
    }
}
