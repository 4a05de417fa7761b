internal import KeychainHost
internal import SystemCrypto
internal import TokenKit

/// What a file holds that can be imported.
struct ImportedFile {
    /// What the file turned out to be.
    enum Format {
        case pem, x509, pkcs7, pkcs12, key
    }

    private(set) var certificates: [Certificate] = []
    private(set) var keys: [PrivateKey] = []
    private(set) var publicKeys: [PublicKey] = []
    let format: Format
    private var friendlyNames: [[UInt8]: String] = [:]

    init(_ input: Input, _ passphrase: Passphrase) throws {
        var bytes = try input.whole()
        let isPEM = PEM.isPEM(bytes.span)
        certificates = (try? Certificate.all(in: bytes)) ?? []
        if !isPEM, !certificates.isEmpty {
            format = .x509
            return
        }
        if let set = try ImportedFile.certificateSet(bytes, isPEM: isPEM), !set.isEmpty {
            (certificates, format) = (set, .pkcs7)
            return
        }
        if !isPEM, let bag = try ImportedFile.pkcs12(bytes, passphrase) {
            (certificates, keys, friendlyNames, format) = (bag.certificates, bag.keys, bag.friendlyNames, .pkcs12)
            return
        }
        format = isPEM ? .pem : .key
        publicKeys = ImportedFile.publicKeys(bytes, isPEM: isPEM)
        let secret = Secret(consuming: &bytes)
        // The DER of a public key could also be that of an encrypted private one, which it is not.
        if isPEM || publicKeys.isEmpty, let key = try ImportedFile.privateKey(secret, passphrase) { keys = [key] }
        guard !isEmpty else {
            throw KeychainError(
                .unknownFormat, "'\(input.name)' is none of the formats that can be imported",
                remedy: "use PEM, DER, PKCS#7, PKCS#8 or PKCS#12")
        }
    }

    var isEmpty: Bool { certificates.isEmpty && keys.isEmpty && publicKeys.isEmpty }

    /// Leaves out what is of another kind, but for PKCS#12, which macOS's `security` imports as a whole.
    mutating func keep(_ kind: Import.Kind) throws {
        switch kind {
        case .session: throw KeychainError(.unsupportedFormat, "symmetric keys are not imported from files")
        case _ where format == .pkcs12, .agg: break
        case .cert: (keys, publicKeys) = ([], [])
        case .priv: (certificates, publicKeys) = ([], [])
        case .pub: (certificates, keys) = ([], [])
        }
        guard !isEmpty else {
            throw KeychainError(.unknownFormat, "the file holds nothing of type '\(kind.rawValue)'")
        }
    }

    /// What to call a key: as its file does, or as its certificate.
    func label(of key: PrivateKey) -> String? {
        let hash = key.publicKey.keyHash
        return friendlyNames[hash] ?? certificates.first { $0.keyHash == hash }?.commonName
    }

    /// - Returns: nil where the bytes are no PKCS#7.
    private static func certificateSet(_ bytes: [UInt8], isPEM: Bool) throws -> [Certificate]? {
        guard isPEM else { return try? CertificateSet.parse(bytes) }
        let blocks = (try? PEM.blocks(labelled: "PKCS7", in: bytes)) ?? []
        return try blocks.isEmpty ? nil : blocks.flatMap { try CertificateSet.parse($0) }
    }

    private static func publicKeys(_ bytes: [UInt8], isPEM: Bool) -> [PublicKey] {
        let encodings = isPEM ? (try? PEM.blocks(labelled: "PUBLIC KEY", in: bytes)) ?? [] : [bytes]
        return encodings.compactMap { try? PublicKey(spki: $0) }
    }

    /// - Returns: nil where the bytes are no PKCS#12 at all.
    private static func pkcs12(_ der: [UInt8], _ passphrase: Passphrase) throws -> PKCS12? {
        let refusal: CryptoError
        do throws(CryptoError) { return try PKCS12.parse(der) } catch { refusal = error }
        switch refusal.code {
        case .malformed, .unsupported: return nil
        case .wrongPassword, .passwordRequired: return try PKCS12.parse(der, password: passphrase.ask())
        default: throw refusal
        }
    }

    /// - Returns: nil where the bytes are no private key.
    private static func privateKey(_ bytes: borrowing Secret, _ passphrase: Passphrase) throws -> PrivateKey? {
        let refusal: CryptoError
        do throws(CryptoError) { return try PrivateKey(encoded: bytes) } catch { refusal = error }
        switch refusal.code {
        case .malformed: return nil
        case .passwordRequired: return try PrivateKey(encoded: bytes, password: passphrase.ask())
        default: throw refusal
        }
    }
}

/// The passphrase of a file: given as an argument, or asked for.
struct Passphrase {
    let argument: String?
    let request: PromptRequest
    let context: AuthenticationContext

    func ask() throws -> Secret {
        if let argument { return SecretArgument.secret(argument) }
        return try context.prompter.ask(request)
    }
}
