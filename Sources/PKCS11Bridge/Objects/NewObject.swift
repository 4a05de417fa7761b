internal import KeychainModel
internal import CCryptoki
internal import SecureBytes
internal import SystemCrypto

/// Makes a keychain's item from a template. PKCS #11 §5.7.1.
enum NewObject {
    /// - Throws: `CKR_TEMPLATE_INCOMPLETE`, `CKR_TEMPLATE_INCONSISTENT`, `CKR_ATTRIBUTE_VALUE_INVALID`.
    static func item(from template: Template) throws(CryptokiError) -> NewItem {
        let objectClass = try required(template.ulong(CKA_CLASS), CKA_CLASS)
        let label: Attributes = try template.text(CKA_LABEL).map { [.label: .string($0)] } ?? [:]
        switch objectClass {
        case CKO_CERTIFICATE: return try certificate(template, label)
        case CKO_PUBLIC_KEY:
            let key = try publicKey(from: template)
            let attributes = try tag(template, key).merging(label) { $1 }.merging(publicUses(template)) { $1 }
            return try mapping { () throws(KeychainError) in try .publicKey(key, attributes) }
        case CKO_PRIVATE_KEY: return try item(of: privateKey(from: template), template)
        case CKO_DATA: return try data(template, label)
        default: throw CryptokiError(CKR_TEMPLATE_INCONSISTENT, "objects of class \(objectClass) are not kept here")
        }
    }

    /// The item of a private key, with the template's attributes beside its numbers.
    static func item(of key: PrivateKey, _ template: Template) throws(CryptokiError) -> NewItem {
        let label: Attributes = try template.text(CKA_LABEL).map { [.label: .string($0)] } ?? [:]
        let attributes = try tag(template, key.publicKey).merging(label) { $1 }.merging(protection(template, key.kind))
        { $1 }
        return try mapping { () throws(KeychainError) in try .privateKey(key, attributes) }
    }

    /// The item of a secret key, with the template's attributes beside its bytes.
    ///
    /// - Throws: `CKR_TEMPLATE_INCONSISTENT` for a kind of key that no keychain keeps, `CKR_ATTRIBUTE_VALUE_INVALID` for a key that is
    ///   too short for one.
    static func item(
        ofSecretKey secret: consuming Secret, _ template: Template, isGenerated: Bool
    ) throws(CryptokiError) -> NewItem {
        let (kind, type) = try secretKeyKind(template)
        let protection = try KeyProtection(ofSecretKey: template, isGenerated: isGenerated)
        var attributes: Attributes = [
            .isSensitive: .bool(protection.isSensitive), .isExtractable: .bool(protection.isExtractable),
            .wasAlwaysSensitive: .bool(protection.wasAlwaysSensitive),
            .wasNeverExtractable: .bool(protection.wasNeverExtractable),
        ]
        if let label = try template.text(CKA_LABEL) { attributes[.label] = .string(label) }
        if let id = template[CKA_ID], !id.isEmpty { attributes[.applicationTag] = .data(id) }
        for (use, attribute) in kind.uses where try template.bool(use) == false { attributes[attribute] = false }
        do throws(KeychainError) {
            return try .symmetricKey(secret, type: type, attributes)
        } catch {
            let invalid = error.code == .keySizeNotAllowed
            throw invalid ? CryptokiError(CKR_ATTRIBUTE_VALUE_INVALID, error.description) : CryptokiError(error)
        }
    }

    /// - Throws: `CKR_TEMPLATE_INCONSISTENT`.
    static func secretKeyKind(_ template: Template) throws(CryptokiError) -> (SecretKeyKind, KeyType) {
        let kind = SecretKeyKind(try template.ulong(CKA_KEY_TYPE) ?? CKK_GENERIC_SECRET)
        guard let type = kind.itemType else {
            throw CryptokiError(CKR_TEMPLATE_INCONSISTENT, "a keychain keeps AES keys and generic secrets")
        }
        return (kind, type)
    }

    /// The protection in a private key's template.
    ///
    /// - Throws: `CKR_TEMPLATE_INCONSISTENT` for protection that keys do not have here.
    static func protection(_ template: Template, _ kind: KeyKind) throws(CryptokiError) -> Attributes {
        guard try template.bool(CKA_ALWAYS_AUTHENTICATE) != true else {
            throw CryptokiError(CKR_TEMPLATE_INCONSISTENT, "no key here wants the PIN each time")
        }
        let table: [(CK_ATTRIBUTE_TYPE, Attribute)] = [
            (CKA_SENSITIVE, .isSensitive), (CKA_EXTRACTABLE, .isExtractable), (CKA_SIGN, .canSign),
            (CKA_DECRYPT, .canDecrypt), (CKA_UNWRAP, .canUnwrap), (CKA_DERIVE, .canDerive),
            // Only in the template of a copy: TemplateRules refuses them from programs.
            (CKA_ALWAYS_SENSITIVE, .wasAlwaysSensitive), (CKA_NEVER_EXTRACTABLE, .wasNeverExtractable),
        ]
        // The numbers of a key can be read only where the template asks for that.
        var attributes: Attributes = [.isSensitive: true]
        // Unwrapping amounts to decryption: a template that denies only decryption denies both.
        attributes[.canUnwrap] = try template.bool(CKA_DECRYPT).map { .bool($0) }
        for (type, attribute) in table {
            if let flag = try template.bool(type) { attributes[attribute] = .bool(flag) }
        }
        if let list = template[CKA_ALLOWED_MECHANISMS], !list.isEmpty {
            guard let allowed = Encoded.ulongs(in: list) else { throw Template.invalid(CKA_ALLOWED_MECHANISMS) }
            // Keys cannot be restricted to some of their mechanisms here.
            guard Set(KeyMechanisms(kind) { attributes[$0] }.allowed).isSubset(of: allowed) else {
                throw TemplateRules.inVain(CKA_ALLOWED_MECHANISMS)
            }
        }
        return attributes
    }

    /// The uses that a public key's template denies.
    static func publicUses(_ template: Template) throws(CryptokiError) -> Attributes {
        var attributes: Attributes = [:]
        for (type, attribute) in KeyMechanisms.publicUses {
            if try template.bool(type) == false { attributes[attribute] = false }
        }
        return attributes
    }

    private static func tag(_ template: Template, _ key: PublicKey) -> Attributes {
        id(template, key.keyHash).map { [.applicationTag: .data($0)] } ?? [:]
    }

    /// The id that a program gave; nil for the key's hash, which is the default.
    private static func id(_ template: Template, _ hash: [UInt8]) -> [UInt8]? {
        template[CKA_ID].flatMap { $0.isEmpty || $0 == hash ? nil : $0 }
    }

    /// The certificate in a template, for a keychain or a card.
    static func certificate(in template: Template) throws(CryptokiError) -> Certificate {
        let value = try template.requiredSecret(CKA_VALUE)
        let der = value.bytes.indices.map { value.bytes[$0] }
        if let type = try template.ulong(CKA_CERTIFICATE_TYPE), type != CKC_X_509 {
            throw Template.invalid(CKA_CERTIFICATE_TYPE)
        }
        let certificate = try CryptokiError.mapping(invalid: CKR_ATTRIBUTE_VALUE_INVALID) { () throws(CryptoError) in
            try Certificate(der: der)
        }
        guard template[CKA_SUBJECT].map({ $0.isEmpty || $0 == certificate.subject.der }) ?? true else {
            throw CryptokiError(CKR_TEMPLATE_INCONSISTENT, "it is the certificate of another subject")
        }
        return certificate
    }

    private static func certificate(_ template: Template, _ label: Attributes) throws(CryptokiError) -> NewItem {
        let certificate = try certificate(in: template)
        let alias: Attributes = id(template, certificate.keyHash).map { [.alias: .data($0)] } ?? [:]
        return try mapping { () throws(KeychainError) in
            try .certificate(certificate, alias.merging(label) { $1 })
        }
    }

    private static func data(_ template: Template, _ label: Attributes) throws(CryptokiError) -> NewItem {
        var attributes = label
        if let name = label[.label] { attributes[.account] = name }
        if let application = try template.text(CKA_APPLICATION) { attributes[.service] = .string(application) }
        guard template[CKA_OBJECT_ID]?.isEmpty ?? true else {
            throw CryptokiError(CKR_TEMPLATE_INCONSISTENT, "a password has no object identifier")
        }
        let secret = template.secret(CKA_VALUE) ?? Secret(capacity: 0) { _ in }
        do throws(KeychainError) {
            return try .genericPassword(attributes, secret: secret)
        } catch {
            throw CryptokiError(error)
        }
    }

    // MARK: Keys

    /// The public key that a template describes, for a keychain or a session.
    static func publicKey(from template: Template) throws(CryptokiError) -> PublicKey {
        let type = try required(template.ulong(CKA_KEY_TYPE), CKA_KEY_TYPE)
        if type == CKK_RSA {
            let (modulus, exponent) = (try template.required(CKA_MODULUS), try template.required(CKA_PUBLIC_EXPONENT))
            return try CryptokiError.mapping(invalid: CKR_ATTRIBUTE_VALUE_INVALID) { () throws(CryptoError) in
                try PublicKey(rsaModulus: modulus, exponent: exponent)
            }
        }
        let kind = try curve(of: template, type)
        guard let point = try kind.point(in: template.required(CKA_EC_POINT)) else {
            throw Template.invalid(CKA_EC_POINT)
        }
        return try CryptokiError.mapping(invalid: CKR_ATTRIBUTE_VALUE_INVALID) { () throws(CryptoError) in
            kind.isEC ? try PublicKey(ecPoint: point, curve: kind) : try PublicKey(raw: point, kind: kind)
        }
    }

    /// The private key that a template describes, for a keychain or a session.
    static func privateKey(from template: Template) throws(CryptokiError) -> PrivateKey {
        let type = try required(template.ulong(CKA_KEY_TYPE), CKA_KEY_TYPE)
        if type == CKK_RSA { return try rsaKey(template) }
        let kind = try curve(of: template, type)
        let scalar = try template.requiredSecret(CKA_VALUE)
        do throws(CryptoError) {
            return kind.isEC ? try PrivateKey(ecScalar: scalar, curve: kind) : try PrivateKey(seed: scalar, kind: kind)
        } catch {
            throw CryptokiError(error, invalid: CKR_ATTRIBUTE_VALUE_INVALID, length: CKR_ATTRIBUTE_VALUE_INVALID)
        }
    }

    /// An RSA key, from its primes where the template has them, as every program's that has a whole key.
    private static func rsaKey(_ template: Template) throws(CryptokiError) -> PrivateKey {
        let (modulus, exponent) = (try template.required(CKA_MODULUS), try template.required(CKA_PUBLIC_EXPONENT))
        let privateExponent = try template.requiredSecret(CKA_PRIVATE_EXPONENT)
        let primes = RSAPrimes(
            p: try template.requiredSecret(CKA_PRIME_1), q: try template.requiredSecret(CKA_PRIME_2),
            dP: try template.requiredSecret(CKA_EXPONENT_1), dQ: try template.requiredSecret(CKA_EXPONENT_2),
            qInv: try template.requiredSecret(CKA_COEFFICIENT))
        do throws(CryptoError) {
            return try PrivateKey(
                rsaModulus: modulus, exponent: exponent, privateExponent: privateExponent, primes)
        } catch {
            throw CryptokiError(error, invalid: CKR_ATTRIBUTE_VALUE_INVALID, length: CKR_ATTRIBUTE_VALUE_INVALID)
        }
    }

    private static func curve(of template: Template, _ type: CK_KEY_TYPE) throws(CryptokiError) -> KeyKind {
        let kind = try KeyKind.named(by: template.required(CKA_EC_PARAMS))
        guard kind.keyType == type else { throw CryptokiError(CKR_TEMPLATE_INCONSISTENT) }
        return kind
    }

    private static func required(_ value: CK_ULONG?, _ type: CK_ATTRIBUTE_TYPE) throws(CryptokiError) -> CK_ULONG {
        guard let value else { throw Template.missing(type) }
        return value
    }

    private static func mapping(_ body: () throws(KeychainError) -> NewItem) throws(CryptokiError) -> NewItem {
        try CryptokiError.mapping(body)
    }
}
