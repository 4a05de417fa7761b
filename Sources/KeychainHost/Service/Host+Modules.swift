public import HostAPI
public import KeychainModel
internal import Localization
internal import TokenKit

extension Host {
    public func modules(_ context: RequestContext) throws(KeychainError) -> [ModuleDescription] {
        try run(context) { _ throws(KeychainError) in
            let leftOut = keychains.leftOutModules()
            return try keychains.presentModules().map(\.description)
                + leftOut.map { ModuleDescription($0.name, .leftOut(reason: $0.reason)) }
        }
    }

    package func logInToModule(_ context: RequestContext) throws(KeychainError) {
        try visit(context, onToken: true) { visit throws(KeychainError) in
            var tokens: [TokenKeychain] = []
            for case let module as ModuleKeychain in visit.session.searchList.members {
                for token in try module.tokens() where try token.wantsPIN() { tokens.append(token) }
            }
            guard let token = tokens.first else {
                throw KeychainError(
                    .noSuchKeychain, "the module has no token that takes a PIN, besides cards that are used without it",
                    remedy: "insert one, or give no PIN")
            }
            guard tokens.count == 1 else {
                throw KeychainError(
                    .param, "the module has several tokens that take a PIN, and the PIN is for one of them",
                    remedy: "give no PIN: it is asked for when a key is used")
            }
            try journal.noting(.logIn, nil, of: token.name) { () throws(KeychainError) in
                try token.verifyPIN(use: visit.use("log in"), authentication: visit.session.authentication)
            }
        }
    }
}

extension ModuleKeychain {
    fileprivate var description: ModuleDescription {
        ModuleDescription(name, path: module.path, state)
    }

    private var state: ModuleDescription.State {
        do throws(KeychainError) {
            var tokens: [ModuleDescription.Token] = []
            for token in try self.tokens() {
                guard let identity = try token.identity() else { continue }
                tokens.append(
                    ModuleDescription.Token(
                        KeychainIdentifier(rawValue: identity.id.description), label: identity.label,
                        slot: token.name))
            }
            return .used(tokens, bypassedReaders: try sharedReaders())
        } catch {
            return .failed(error)
        }
    }
}
