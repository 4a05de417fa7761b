public import HostAPI
public import KeychainModel
internal import TokenKit

// Keychains that are opened and closed as a whole, and the PINs of cards.
extension Host {
    public func unlock(
        _ keychain: KeychainIdentifier, for seconds: UInt32?, _ context: RequestContext
    ) throws(KeychainError) {
        try visit(context, onToken: !keychain.isLocal) { visit throws(KeychainError) in
            let found = try visit.session.keychain(keychain)
            try journal.noting(.unlock, nil, of: found.name) { () throws(KeychainError) in
                try unlock(found, for: seconds, visit)
            }
        }
    }

    private func unlock(
        _ keychain: any Keychain, for seconds: UInt32?, _ visit: Visit
    ) throws(KeychainError) {
        let authentication = visit.session.authentication
        switch keychain {
        case let token as TokenKeychain:
            // A PIN that came along is an answer to be checked.
            if !authentication.hasCredential(.pin), try token.isUnlocked() { return }
            try token.verifyPIN(use: visit.use("log in"), authentication: authentication)
        case let file as LocalKeychain:
            // A password that came along is an answer to be checked.
            if authentication.hasCredential(.password) {
                try file.confirmPresence(use: visit.use(LocalKeychain.plainUnlock), authentication: authentication)
            } else {
                try file.unlock(use: visit.use(LocalKeychain.plainUnlock), authentication: authentication)
            }
            if let seconds { file.lockAfter(seconds: seconds) }
        case let other: try other.unlock(use: visit.use(LocalKeychain.plainUnlock), authentication: authentication)
        }
    }

    public func lock(_ keychain: KeychainIdentifier?, _ context: RequestContext) throws(KeychainError) -> [Missing] {
        guard let keychain else { return try lockAll(context) }
        return try visit(context, onToken: !keychain.isLocal) { visit throws(KeychainError) in
            let found = try visit.session.keychain(keychain)
            try journal.noting(.lock, nil, of: found.name) { () throws(KeychainError) in
                switch found {
                case let token as TokenKeychain: try token.logOut()
                case let file as LocalKeychain: file.lock()
                default: throw .noSuchKeychain(keychain)
                }
            }
            return []
        }
    }

    private func lockAll(_ context: RequestContext) throws(KeychainError) -> [Missing] {
        try visit(context) { visit throws(KeychainError) in
            var missing = try keychains.lockFiles()
            for case let token as TokenKeychain in visit.session.searchList.members {
                do throws(KeychainError) {
                    if try token.identity() != nil, try token.isUnlocked() { try token.logOut() }
                } catch {
                    missing.append(token.missing(error))
                }
            }
            process.forgetPINsOfModules()
            journal.note(.lock, nil, of: nil, failure: missing.first?.error.code)
            return missing
        }
    }

    public func administer(
        _ keychain: KeychainIdentifier, _ administration: CardAdministration, _ context: RequestContext
    ) throws(KeychainError) {
        try visit(context, onToken: true) { visit throws(KeychainError) in
            let authentication = visit.session.authentication
            let token = try visit.session.card(keychain)
            try journal.noting(administration.action, nil, of: token.name) { () throws(KeychainError) in
                switch administration {
                case .changePIN: try token.change(.pin, authentication: authentication)
                case .changeUnblockingKey: try token.change(.unblockingKey, authentication: authentication)
                case .unblockPIN: try token.unblock(authentication: authentication)
                case .reset: try token.reset()
                }
            }
        }
    }
}
