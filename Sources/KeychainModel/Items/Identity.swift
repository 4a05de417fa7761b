/// A certificate and the private key that belongs to it, wherever each of them is.
public struct Identity: Sendable, Hashable {
    public let certificate: Item
    public let key: Item

    package init(certificate: Item, key: Item) {
        self.certificate = certificate
        self.key = key
    }

    /// The certificate's reference as an identity.
    public var reference: PersistentReference { certificate.reference.retyped(as: .identity) }
}

extension ItemList {
    package func contains(_ identity: Identity) -> Bool {
        references.contains(identity.reference) || contains(identity.certificate) || contains(identity.key)
    }
}
