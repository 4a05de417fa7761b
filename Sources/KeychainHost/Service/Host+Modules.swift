public import HostAPI
public import KeychainModel
internal import TokenKit

extension Host {
    public func modules(_ context: RequestContext) throws(KeychainError) -> [ModuleDescription] {
        try run(context) { _ throws(KeychainError) in
            let leftOut = keychains.leftOutModules()
            return try keychains.presentModules().map(\.description)
                + leftOut.map { ModuleDescription($0.name, .leftOut(reason: $0.reason)) }
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
