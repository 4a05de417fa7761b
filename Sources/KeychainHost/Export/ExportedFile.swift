internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import SystemCrypto

/// The writer of a file of certificates and keys.
struct ExportedFile {
    private var certificates: [(certificate: Certificate, name: String?)] = []
    private var publicKeys: [(key: PublicKey, name: String?)] = []
    private var privateKeys: [(key: KeyRequest.Key, name: String?)] = []
    private let request: ExportRequest
    private let authentication: AuthenticationContext
    private let privateKey: (_ key: KeyRequest.Key, _ encrypted: Bool) throws(KeychainError) -> PrivateKey

    /// - Parameters:
    ///   - authentication: the context that is asked for a passphrase.
    ///   - privateKey: the key of the request, to leave its keychain encrypted or not.
    init(
        _ request: ExportRequest, asking authentication: AuthenticationContext,
        privateKey: @escaping (_ key: KeyRequest.Key, _ encrypted: Bool) throws(KeychainError) -> PrivateKey
    ) {
        (self.request, self.authentication, self.privateKey) = (request, authentication, privateKey)
        for object in request.objects {
            switch object {
            case .certificate(let certificate, let name): certificates.append((certificate, name))
            case .publicKey(let key, let name): publicKeys.append((key, name))
            case .privateKey(let key, let name): privateKeys.append((key, name))
            }
        }
    }

    /// - Throws: `errSecParam` for objects that the format cannot hold; `errSecPassphraseRequired`.
    func bytes() throws(KeychainError) -> Secret {
        try require(!request.objects.isEmpty, "there is nothing to export")
        switch request.format {
        case .x509:
            try require(hasCertificatesAlone, "X.509 holds certificates only")
            try require(request.isArmored || certificates.count == 1, "several certificates in X.509 need PEM")
            return .joining([request.isArmored ? certificatesInPEM : .plain(certificates[0].certificate.der)])
        case .pkcs7:
            try require(hasCertificatesAlone, "PKCS #7 holds certificates only")
            return .joining([armored(CertificateSet.encode(certificates.map(\.certificate)), "PKCS7")])
        case .pkcs12: return .joining([armored(try pkcs12(), "PKCS12")])
        case .pemSequence:
            let keys = try request.passphrase == .none ? plainKeysInPEM() : encryptedKeysInPEM()
            return .joining([certificatesInPEM, publicKeysInPEM] + keys)
        case .openssl:
            try requireKeys(request.isArmored ? .max : 1)
            if request.isArmored { return .joining([publicKeysInPEM] + (try plainKeysInPEM())) }
            guard let key = privateKeys.first else { return .joining(publicKeys.map { .plain($0.key.spki) }) }
            return try plainEncoding(key.key, inPEM: false)
        case .pkcs8:
            try requireKeys(request.isArmored ? .max : 1)
            try require(publicKeys.isEmpty, "a public key is not encrypted")
            return .joining(try request.isArmored ? encryptedKeysInPEM() : encryptedKeys().map { .plain($0) })
        case .openssh:
            try requireKeys(.max)
            return try openSSH()
        }
    }

    // MARK: Limits of the formats

    private var hasCertificatesAlone: Bool { privateKeys.isEmpty && publicKeys.isEmpty }

    private func require(_ isFitting: Bool, _ refusal: LocalizedText) throws(KeychainError) {
        guard isFitting else { throw KeychainError(.param, refusal, key: "outputFormat") }
    }

    private func requireKeys(_ most: Int) throws(KeychainError) {
        try require(certificates.isEmpty, "the format holds keys only")
        try require(publicKeys.count + privateKeys.count <= most, "several keys in this format need PEM")
    }

    // MARK: Private keys to be encrypted

    private typealias NamedKey = (key: PrivateKey, name: String?)

    /// The private keys and their passphrase. The keys are read first: for one that cannot leave its keychain, no passphrase is chosen.
    private func keysAndPassphrase() throws(KeychainError) -> (keys: [NamedKey], passphrase: SharedSecret) {
        guard request.passphrase != .none else {
            throw KeychainError(
                .passphraseRequired, "private keys are exported in this format only under a passphrase",
                remedy: "give one")
        }
        var keys: [NamedKey] = []
        for (key, name) in privateKeys { keys.append((try privateKey(key, true), name)) }
        if case .given(let passphrase) = request.passphrase { return (keys, passphrase) }
        let question = PromptRequest(.newPassword, subject: request.subject)
        return (keys, SharedSecret(try authentication.prompter.askForAnother(question)))
    }

    /// The private keys in encrypted PKCS #8.
    private func encryptedKeys() throws(KeychainError) -> [[UInt8]] {
        guard !privateKeys.isEmpty else { return [] }
        let (keys, passphrase) = try keysAndPassphrase()
        return try KeychainError.mapping { () throws(CryptoError) in
            try keys.map { (key) throws(CryptoError) in try key.key.encryptedPKCS8(password: passphrase.secret) }
        }
    }

    // MARK: The formats

    private func armored(_ der: [UInt8], _ label: String) -> SharedSecret {
        .plain(request.isArmored ? Array(PEM.encode(der, label: label).utf8) : der)
    }

    private var certificatesInPEM: SharedSecret { .plain(Array(certificates.map(\.certificate.pem).joined().utf8)) }

    private var publicKeysInPEM: SharedSecret {
        .plain(Array(publicKeys.map { PEM.encode($0.key.spki, label: "PUBLIC KEY") }.joined().utf8))
    }

    private func encryptedKeysInPEM() throws(KeychainError) -> [SharedSecret] {
        try encryptedKeys().map { .plain(Array(PEM.encode($0, label: "ENCRYPTED PRIVATE KEY").utf8)) }
    }

    private func plainKeysInPEM() throws(KeychainError) -> [SharedSecret] {
        var texts: [SharedSecret] = []
        for (key, _) in privateKeys { texts.append(SharedSecret(try plainEncoding(key, inPEM: true))) }
        return texts
    }

    /// PKCS #1 for an RSA key, SEC 1 for an EC key, PKCS #8 for others: OpenSSL's first format for each.
    private func plainEncoding(_ key: KeyRequest.Key, inPEM: Bool) throws(KeychainError) -> Secret {
        let key = try privateKey(key, false)
        let label =
            switch key.kind {
            case .rsa: "RSA PRIVATE KEY"
            case let kind where kind.isEC: "EC PRIVATE KEY"
            default: "PRIVATE KEY"
            }
        let der = try KeychainError.mapping { () throws(CryptoError) -> Secret in
            label == "PRIVATE KEY" ? try key.pkcs8() : try key.algorithmEncoding()
        }
        return inPEM ? PEM.encode(der, label: label) : der
    }

    private func openSSH() throws(KeychainError) -> Secret {
        var texts: [SharedSecret] = []
        for (key, name) in publicKeys {
            let line = try KeychainError.mapping { () throws(CryptoError) in
                try OpenSSHPublicKeys.line(key, comment: name ?? "")
            }
            texts.append(.plain(Array(line.utf8)))
        }
        guard !privateKeys.isEmpty else { return .joining(texts) }
        let (keys, passphrase) = try keysAndPassphrase()
        for (key, name) in keys {
            let text = try KeychainError.mapping { () throws(CryptoError) -> Secret in
                try key.encryptedOpenSSH(comment: name ?? "", password: passphrase.secret)
            }
            texts.append(SharedSecret(text))
        }
        return .joining(texts)
    }

    /// The content of a PKCS #12 file. Certificates without keys are added as intermediate ones.
    private func pkcs12() throws(KeychainError) -> [UInt8] {
        try require(publicKeys.isEmpty, "a public key goes into PKCS #12 only with its certificate")
        try require(!privateKeys.isEmpty, "PKCS #12 is written for private keys and their certificates")
        let (keys, passphrase) = try keysAndPassphrase()
        var chain = certificates
        var identities: [PKCS12.Identity] = []
        for (key, _) in keys {
            let isOwn = { (certificate: Certificate) in certificate.keyHash == key.publicKey.keyHash }
            // A key that is given for each of its certificates goes with one after the other.
            let next = chain.firstIndex { isOwn($0.certificate) }.map { chain.remove(at: $0) }
            guard let own = next ?? certificates.first(where: { isOwn($0.certificate) }) else {
                throw KeychainError(.param, "a private key goes into PKCS #12 only with its certificate")
            }
            identities.append(
                try KeychainError.mapping { () throws(CryptoError) in
                    try PKCS12.Identity(key, own.certificate, friendlyName: own.name)
                })
        }
        return try KeychainError.mapping { () throws(CryptoError) in
            try PKCS12.create(identities, chain: chain.map(\.certificate), password: passphrase.secret)
        }
    }
}

extension SharedSecret {
    /// Bytes that are not secret.
    fileprivate static func plain(_ bytes: [UInt8]) -> SharedSecret { SharedSecret(Secret(copying: bytes.span)) }
}

extension Secret {
    fileprivate static func joining(_ parts: [SharedSecret]) -> Secret {
        Secret(capacity: parts.reduce(0) { $0 + $1.secret.count }) { joined in
            for part in parts {
                let secret = part.secret.clone()
                joined.append(secret.bytes)
            }
        }
    }
}
