package import KeychainModel

/// A row of the table `card_binding`: a card whose key opens the keychain, in bytes that only a driver and the card understand.
package struct CardBindingRow: Sendable, Hashable {
    /// The key on its card.
    package let reference: PersistentReference
    /// The card's name for people.
    package let label: String
    /// The public half of the card's key as a DER SubjectPublicKeyInfo.
    package let publicKey: [UInt8]
    /// The name of the algorithm that the card's key is used with.
    package let algorithm: String
    /// The input for the card's key: a ciphertext, or a public key.
    package let exchange: [UInt8]
    /// The salt of the wrapping key.
    package let salt: [UInt8]
    /// The keychain's key, sealed under the wrapping key.
    package let wrapped: [UInt8]
    /// The key that identifies the card before its PIN is asked for; nil where there is none.
    package let proof: [UInt8]?

    package init(
        reference: PersistentReference, label: String, publicKey: [UInt8], algorithm: String, exchange: [UInt8],
        salt: [UInt8], wrapped: [UInt8], proof: [UInt8]?
    ) {
        self.reference = reference
        self.label = label
        self.publicKey = publicKey
        self.algorithm = algorithm
        self.exchange = exchange
        self.salt = salt
        self.wrapped = wrapped
        self.proof = proof
    }

    /// The current row of a statement of ``CardBindingTable``; nil for one that this program cannot have written.
    init?(_ row: borrowing Statement) {
        guard let reference = row[0].blob.flatMap({ try? PersistentReference(parsing: $0) }),
            reference.itemClass == .key, reference.tokenID != nil, let label = row[1].text,
            let publicKey = row[2].blob, let algorithm = row[3].text, let exchange = row[4].blob,
            let salt = row[5].blob, let wrapped = row[6].blob, row[8] == .null || row[8].blob != nil
        else { return nil }
        self.init(
            reference: reference, label: label, publicKey: publicKey, algorithm: algorithm, exchange: exchange,
            salt: salt, wrapped: wrapped, proof: row[8].blob)
    }
}
