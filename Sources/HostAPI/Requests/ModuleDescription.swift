public import KeychainModel

/// A PKCS #11 module of another maker, whose tokens are keychains too.
public struct ModuleDescription: Sendable, Equatable {
    /// A token of a module.
    public struct Token: Sendable, Hashable {
        public let identifier: KeychainIdentifier
        public let label: String
        /// The name of its slot.
        public let slot: String

        public init(_ identifier: KeychainIdentifier, label: String, slot: String) {
            self.identifier = identifier
            self.label = label
            self.slot = slot
        }
    }

    public enum State: Sendable, Equatable {
        /// The tokens that are there, and the readers whose cards are read without the module.
        case used([Token], bypassedReaders: [String])
        case failed(KeychainError)
        /// The configuration leaves the module out. The reason is a sentence.
        case leftOut(reason: String)
    }

    /// The name in p11-kit, or that of the module's file.
    public let name: String
    /// The module's file; nil for a module without one here, and for one that is left out.
    public let path: String?
    public let state: State

    public init(_ name: String, path: String? = nil, _ state: State) {
        self.name = name
        self.path = path
        self.state = state
    }
}
