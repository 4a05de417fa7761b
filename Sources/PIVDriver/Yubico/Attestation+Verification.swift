public import SystemCrypto
public import TokenKit

extension PIVDriver {
    /// Verifies a YubiKey's attestation. Yubico, PIV attestation.
    public func verify(
        _ statement: [Certificate], roots: [Certificate], at time: Int64
    ) throws(TokenError) -> TokenAttestation? {
        guard let certificate = statement.first else { return nil }
        let attestation = Attestation(certificate)
        guard let slot = attestation.slot, let firmware = attestation.firmware, attestation.tellsPolicies else {
            return nil
        }
        let refusal: String?
        do throws(CryptoError) {
            refusal = try Attestation.refusal(certificate, Array(statement.dropFirst()), roots, at: time)
        } catch {
            refusal = "it cannot be verified: \(error)"
        }
        if let refusal { throw TokenError(.notProven, "the statement of the card is not trusted: \(refusal)") }
        var facts = [TokenFact("Firmware", firmware.description)] + Advisory.facts(for: firmware)
        if let number = attestation.serialNumber { facts.append(TokenFact("Serial number", String(number))) }
        if let form = attestation.form { facts.append(TokenFact("Form", form)) }
        return TokenAttestation(
            publicKey: attestation.publicKey, place: slot.objectID, pinPolicy: attestation.pinPolicy,
            touchPolicy: attestation.touchPolicy, facts: facts)
    }
}

extension Attestation {
    /// The reason why a statement leads to none of the roots; nil where it leads to one.
    ///
    /// Nothing but the certificate of the card's attestation key stands between them: any other key that a root vouches for, such as an
    /// attested one, could sign statements as well.
    ///
    /// - Parameter others: the certificates after that of the attested key.
    fileprivate static func refusal(
        _ certificate: Certificate, _ others: [Certificate], _ roots: [Certificate], at time: Int64
    ) throws(CryptoError) -> String? {
        guard others.count <= 1 else {
            return "more than the card's own certificate follows it (pass those of the maker as roots)"
        }
        var signer: Certificate?
        for candidate in others.isEmpty ? roots : others where try certificate.verify(issuedBy: candidate) {
            signer = candidate
            break
        }
        guard let signer else {
            return others.isEmpty
                ? "none of the roots has signed it, and the card's own certificate is missing"
                : "it is not signed with the key of the card's certificate"
        }
        guard signer.maySignStatements else { return "its signer's certificate is not that of a card" }
        guard certificate.isValid(at: time) else { return "its certificate is not valid at this time" }
        // Only the card's certificate is checked by RFC 5280's rules: as a signer, that of a YubiKey 4 breaks them, since it does not say
        // that it is an authority's (§4.2.1.9).
        switch try CertificateChain.verify(signer, intermediates: [], roots: roots, at: time, endsAtAnyRoot: true) {
        case .trusted: return nil
        case .untrusted(let reason, _): return "the card's certificate leads to none of the roots (\(reason))"
        }
    }
}

extension Certificate {
    /// Whether the certificate may be that of an attestation key. Older ones leave out the basic constraints and the key usage.
    fileprivate var maySignStatements: Bool {
        let hasConstraints = extensions.contains { $0.identifier == "2.5.29.19" }
        return (isCA || !hasConstraints) && keyUsage?.contains(.keyCertSign) != false
            && !Attestation(self).tellsPolicies
    }
}
