internal import SecureBytes
internal import SystemCrypto
public import TokenKit

// Tells the card from a copy of all its readable data, before it gets a PIN.
extension PIVToken {
    /// The card authentication key, which signs without a PIN (SP 800-73-5 part 1 table 5), else the key of 9A.
    private static let proofSlots: [PIVSlot] = [.cardAuthentication, .authentication]

    public mutating func proofKey(_ card: inout CardTransaction) throws(TokenError) -> ProofKey? {
        for slot in PIVToken.proofSlots {
            _ = try object(in: slot, &card)
            if listedProofKey?.canBeChallenged == true { break }
        }
        return listedProofKey
    }

    /// The proof key, from the slots that have been read.
    var listedProofKey: ProofKey? {
        let keys = PIVToken.proofSlots.compactMap { slot -> ProofKey? in
            guard let key = (knowledge.slots[slot] ?? nil)?.key, !key.publicKey.isEmpty else { return nil }
            return ProofKey(
                object: slot.objectID, publicKey: key.publicKey,
                canBeChallenged: key.pinPolicy == .never && !key.touchPolicy.mayWait && PIVToken.canSign(key, quirks))
        }
        return keys.first(where: \.canBeChallenged) ?? keys.last
    }

    public mutating func prove(_ key: ProofKey, _ card: inout CardTransaction) throws(TokenError) {
        guard let slot = PIVSlot(key.object) else { throw PIVToken.notProven(key) }
        guard key.canBeChallenged else {
            guard try object(in: slot, &card).object?.key?.publicKey == key.publicKey else {
                throw PIVToken.notProven(key)
            }
            return
        }
        do {
            try challenge(SlotKey.key(spki: key.publicKey, in: slot), in: slot, &card)
        } catch {
            throw error.preventsAnswers ? error : PIVToken.notProven(key)
        }
    }

    public mutating func checkBeforePIN(_ card: inout CardTransaction) throws(TokenError) {
        guard provesBeforePIN(), !knowledge.isProven else { return }
        _ = try tokenID(&card)
        if let known = remembered?.proofKey {
            try prove(known, &card)
        } else if let own = try proofKey(&card) {
            try prove(own, &card)
            try remember(own, &card)
        }
        knowledge.isProven = true
    }

    /// Makes the card sign a new random challenge, and checks the signature with the expected key, whatever key the card shows.
    private mutating func challenge(
        _ key: TokenKey, in slot: PIVSlot, _ card: inout CardTransaction
    ) throws(TokenError) {
        let challenge: [UInt8]
        do { challenge = try RandomBytes.make(count: 32) } catch { throw TokenError(error, "make a challenge") }
        let request = try PrivateKeyRequest(PIVToken.signature(of: challenge, by: key), with: key, quirks: quirks)
        var response = try send(request, to: slot, &card)
        guard response.status.isSuccess else { throw TokenError(response.status, "use the \(slot.label) key") }
        let answer = Secret(consuming: &response.data)
        _ = try request.complete(AuthenticationResponse.parse(answer), isTrusted: false)
    }

    private static func canSign(_ key: TokenKey, _ quirks: PIVQuirks) -> Bool {
        let action = signature(of: [UInt8](repeating: 0, count: 32), by: key)
        return (try? PrivateKeyRequest(action, with: key, quirks: quirks)) != nil
    }

    private static func signature(of digest: [UInt8], by key: TokenKey) -> TokenOperation.Action {
        switch key.kind {
        case .rsa: .sign(.rsaPKCS1(.sha256), digest)
        case .ed25519: .sign(.ed25519, digest)
        default: .sign(.ecdsa(nil), digest)
        }
    }

    private mutating func remember(_ key: ProofKey, _ card: inout CardTransaction) throws(TokenError) {
        guard certificates != nil, !isBlank else { return }
        remember(try identity(&card)) { $0.proofKey = key }
    }

    private static func notProven(_ key: ProofKey) -> TokenError {
        TokenError(
            .notProven,
            "this is another card, or a copy: it does not hold the key \(key.object) by which the card is known, and was sent no PIN (list it with --rescan if it was issued anew)"
        )
    }
}
