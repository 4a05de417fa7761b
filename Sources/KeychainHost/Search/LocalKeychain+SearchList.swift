internal import TokenKit

extension LocalKeychain: Keychain {
    /// The file's name without folder and ending.
    public var name: String {
        let file = path.split(separator: "/").last ?? path[...]
        guard let dot = file.lastIndex(of: "."), dot != file.startIndex else { return String(file) }
        return String(file[..<dot])
    }

    public func keys(_ selector: KeySelector) throws(KeychainError) -> [any KeychainKey] {
        let query =
            switch selector {
            case .name(let name): try LocalKeychain.privateKeys([.label: .string(name)])
            case .publicKeyHash(let hash): try LocalKeychain.privateKeys([.applicationLabel: .data(hash)])
            case .reference(let reference): Query(reference)
            }
        return try items(matching: query).items.filter(\.isPrivateKey).compactMap { item in
            item.der.map { LocalKeychainKey(keychain: self, item: item, publicKey: $0) }
        }
    }

    private static func privateKeys(_ attributes: Attributes) throws(KeychainError) -> Query {
        let fixed: Attributes = [.keyClass: KeyClass.private.value, .synchronizable: Query.anySynchronizable]
        return try Query(.key, fixed.merging(attributes) { $1 }, limit: .all)
    }

    /// Unlocks with what this login session keeps, else with the context's password, else with one that is asked for.
    ///
    /// - Parameter use: completes "password to …".
    public func unlock(use: String, authentication: AuthenticationContext) throws(KeychainError) {
        guard isLocked else { return }
        // A session that keeps no keys is no reason not to ask.
        if let isUnlocked = try? unlockFromSession(), isUnlocked { return }
        var failure: String?
        switch authentication.credential(.password) {
        case .some(let password):
            do throws(KeychainError) {
                return try unlock(password: password)
            } catch {
                guard error.code == .authFailed else { throw error }
                authentication.removeCredential(.password)
                guard authentication.prompter.canAsk else { throw error }
                failure = error.reason
            }
        case .none: break
        }
        while true {
            let request = PromptRequest(.password, subject: name, use: use, failure: failure)
            guard authentication.prompter.canAsk else { throw .cannotAsk(request) }
            let password = try authentication.prompter.ask(request)
            do throws(KeychainError) {
                return try unlock(password: password)
            } catch {
                guard error.code == .authFailed, authentication.prompter.canAskAgain else { throw error }
                failure = error.reason
            }
        }
    }
}
