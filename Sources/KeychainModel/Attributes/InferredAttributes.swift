internal import Localization
package import SystemCrypto

/// The attributes that follow from the data itself (keychain semantics 1.10).
package enum InferredAttributes {
    /// The attributes of a certificate: names without their outer header and normalised, the serial number's content
    /// octets.
    package static func certificate(_ certificate: Certificate) -> Attributes {
        var attributes: Attributes = [
            .certificateType: .number(Int64(certificate.version)),
            .certificateEncoding: .number(encodingDER),
            .subject: .data(normalized(certificate.subject)),
            .issuer: .data(normalized(certificate.issuer)),
            .serialNumber: .data(certificate.serialNumber),
            .publicKeyHash: .data(certificate.keyHash),
        ]
        if let identifier = certificate.subjectKeyIdentifier { attributes[.subjectKeyID] = .data(identifier) }
        if let summary = summary(of: certificate) { attributes[.label] = .string(summary) }
        return attributes
    }

    /// The attributes of a private or public key.
    package static func key(_ key: PublicKey, _ keyClass: KeyClass) -> Attributes {
        let (isPrivate, bits) = (keyClass == .private, Int64(key.kind.bits ?? 0))
        var attributes: Attributes = [
            .keyClass: keyClass.value, .applicationLabel: .data(key.keyHash), .keySizeInBits: .number(bits),
            .effectiveKeySize: .number(bits),
            .isPermanent: true, .isModifiable: true, .isExtractable: true, .isPrivate: .bool(isPrivate),
            .isSensitive: false, .wasAlwaysSensitive: false, .wasNeverExtractable: false,
            .canSign: .bool(isPrivate), .canDecrypt: .bool(isPrivate), .canUnwrap: .bool(isPrivate), .canDerive: true,
            .canVerify: .bool(!isPrivate), .canEncrypt: .bool(!isPrivate), .canWrap: .bool(!isPrivate),
            .canSignRecover: false, .canVerifyRecover: false,
        ]
        if let type = type(of: key.kind) { attributes[.keyType] = type.value }
        return attributes
    }

    /// The attributes of a symmetric key. Given uses take the place of those that follow from its type.
    ///
    /// - Throws: `errSecKeySizeNotAllowed` for a size that keys of the type do not have; `errSecParam`, naming the
    ///   attribute, for a given attribute that contradicts the key, and for a type whose keys have no operation.
    package static func symmetricKey(
        _ type: KeyType, bits: Int, _ given: Attributes
    ) throws(KeychainError) -> Attributes {
        try type.checkSize(ofSymmetricKey: bits)
        let given = try ItemClass.key.checkedForStorage(given, for: .add)
        let own: Attributes = [
            .keyClass: KeyClass.symmetric.value, .keyType: type.value, .keySizeInBits: .number(Int64(bits)),
        ]
        for (attribute, value) in own.sorted(by: { $0.key < $1.key }) {
            guard let given = given[attribute], !given.matches(value) else { continue }
            throw KeychainError(
                .param, "the value of attribute \(attribute) is not that of the key", key: attribute.rawValue)
        }
        let (isCipher, isCode) = (AttributeValue.bool(type == .aes), AttributeValue.bool(type == .hmac))
        let inferred: Attributes = [
            .effectiveKeySize: .number(Int64(bits)), .applicationLabel: .data(UniqueID().bytes),
            .isModifiable: true, .isExtractable: true, .isPrivate: false, .isSensitive: false,
            .wasAlwaysSensitive: false, .wasNeverExtractable: false, .canEncrypt: isCipher, .canDecrypt: isCipher,
            .canWrap: isCipher, .canUnwrap: isCipher, .canDerive: false, .canSign: isCode, .canVerify: isCode,
            .canSignRecover: false, .canVerifyRecover: false,
        ]
        return inferred.merging(given) { $1 }.merging(own) { $1 }.merging([.isPermanent: true]) { $1 }
    }

    /// `CSSM_CERT_ENCODING_DER`
    private static let encodingDER: Int64 = 3

    /// A certificate's title for people: its common name with the description that the subject has, else the first of
    /// its e-mail addresses or DNS names, else the whole subject.
    package static func summary(of certificate: Certificate) -> String? {
        if let name = certificate.commonName {
            return certificate.subject.descriptionAttribute.map { "\(name) (\($0))" } ?? name
        }
        if let address = certificate.emailAddresses.first { return address }
        for case .dns(let name) in certificate.subjectAlternativeNames { return name }
        return certificate.subject.isEmpty ? nil : certificate.subject.description
    }

    package static func normalized(_ name: DistinguishedName) -> [UInt8] {
        NormalizedName.content(of: name.der) ?? name.der
    }

    private static func type(of kind: KeyKind) -> KeyType? {
        switch kind {
        case .rsa: .rsa
        case .ecP256, .ecP384, .ecP521: .ecPrime
        case .ed25519: .ed25519
        case .x25519: .x25519
        case .other("ED448"): .ed448
        case .other("X448"): .x448
        case .other: nil
        }
    }
}
