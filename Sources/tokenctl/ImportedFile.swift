internal import KeychainHost
internal import SecureBytes
internal import SystemCrypto

/// What is imported of a file.
struct ImportedFile {
    /// What the file turned out to be.
    enum Format {
        case pem, x509, pkcs7, pkcs12, key
    }

    private(set) var certificates: [Certificate] = []
    private(set) var keys: [PrivateKey] = []
    private(set) var publicKeys: [PublicKey] = []
    /// What PEM calls the parts that are nothing to import.
    private(set) var others: [String] = []
    private var friendlyNames: [[UInt8]: String] = [:]

    private let name: String
    private let kind: Import.Kind
    private let expected: Import.Format?
    private let passphrase: FilePassphrase

    /// Reads what is wanted of a file; nothing else is opened.
    ///
    /// - Parameters:
    ///   - kind: what is wanted. Of PKCS#12 all is, as by macOS's `security`.
    ///   - format: what the file must be; anything if nil.
    /// - Throws: for a part that is not what it says: nothing of the file is imported then.
    init(_ input: borrowing Input, _ kind: Import.Kind, _ format: Import.Format?, _ passphrase: FilePassphrase) throws {
        guard kind != .session else {
            throw KeychainError(.unsupportedFormat, "symmetric keys are not imported from files")
        }
        (name, self.kind, expected) = (input.name, kind, format)
        self.passphrase = passphrase
        var bytes = try input.whole()
        if PEM.isPEM(bytes.span) {
            try addParts(of: Secret(consuming: &bytes))
        } else {
            do { try addWhole(&bytes) } catch let error as CryptoError { throw failure(error, "'\(name)'") }
        }
        guard certificates.isEmpty && keys.isEmpty && publicKeys.isEmpty else { return }
        guard kind == .agg else {
            throw KeychainError(.unknownFormat, "the file holds nothing of type '\(kind.rawValue)'")
        }
        throw unknownFormat
    }

    /// What to call a key: as its file does, or as its certificate.
    func label(of key: PrivateKey) -> String? {
        let hash = key.publicKey.keyHash
        return friendlyNames[hash] ?? certificates.first { $0.keyHash == hash }?.commonName
    }

    private mutating func add(_ key: PrivateKey) throws(CryptoError) {
        try key.checkParts()
        keys.append(key)
    }

    private mutating func add(_ bag: PKCS12) {
        certificates += bag.certificates
        keys += bag.keys
        friendlyNames.merge(bag.friendlyNames) { first, _ in first }
    }

    // MARK: What is wanted

    private func wants(_ other: Import.Kind) -> Bool { kind == .agg || kind == other }

    /// Whether what is in a file of that format is wanted.
    ///
    /// - Throws: where the file is said to be of another.
    private func wants(_ other: Import.Kind, of format: Format) throws(KeychainError) -> Bool {
        try check(format)
        return wants(other)
    }

    private func check(_ format: Format) throws(KeychainError) {
        guard let expected, !expected.accepts(format) else { return }
        throw KeychainError(.unknownFormat, "'\(name)' is not of the format \(expected.rawValue)")
    }

    // MARK: What is encrypted

    /// What is read of a file or a part of it; a passphrase is asked for only of what is encrypted.
    ///
    /// - Returns: nil for what is not wanted.
    private func open<Content>(
        _ part: Int? = nil, where isWanted: () throws -> Bool = { true },
        _ read: () throws(CryptoError) -> Content,
        _ decrypt: (borrowing Secret) throws(CryptoError) -> Content
    ) throws -> Content? {
        var content: Content?
        do throws(CryptoError) { content = try read() } catch {
            guard [.passwordRequired, .wrongPassword].contains(error.code) else { throw error }
        }
        guard try isWanted() else { return nil }
        return try content ?? passphrase.open(part, decrypt)
    }

    // MARK: What cannot be read

    private var unknownFormat: KeychainError {
        KeychainError(
            .unknownFormat, "'\(name)' has none of the formats that can be imported",
            remedy: "use PEM, DER, PKCS#7, PKCS#8 or PKCS#12")
    }

    private func failure(_ error: CryptoError, _ place: String) -> KeychainError {
        switch error.code {
        case .malformed, .invalidLength:
            KeychainError(.decode, "\(place) cannot be read: \(error)", remedy: "leave it out")
        case .unsupported:
            KeychainError(
                .unsupportedFormat, "\(place) cannot be read: \(error)",
                remedy: "leave it out, or export it anew in another form")
        case .invalidKey:
            KeychainError(
                .decode, "the parts of a private key in '\(name)' do not belong to one key (\(error))",
                remedy: "export it anew where it comes from")
        default: KeychainError(error)
        }
    }
}

// MARK: - PEM

extension ImportedFile {
    /// What a part of PEM is, by its label.
    private enum Part {
        case certificate, certificates, publicKey, rsaPublicKey, privateKey, pkcs12

        init?(_ block: borrowing PEMBlock) {
            switch block.label {
            case "CERTIFICATE", "X509 CERTIFICATE": self = .certificate
            case "PKCS7", "CMS", "PKCS #7 SIGNED DATA": self = .certificates
            case "PUBLIC KEY": self = .publicKey
            case "RSA PUBLIC KEY": self = .rsaPublicKey
            case "PKCS12": self = .pkcs12
            case _ where block.isPrivateKey: self = .privateKey
            default: return nil
            }
        }

        /// What it holds; nil for what is imported as a whole.
        var kind: Import.Kind? {
            switch self {
            case .certificate, .certificates: .cert
            case .publicKey, .rsaPublicKey: .pub
            case .privateKey: .priv
            case .pkcs12: nil
            }
        }
    }

    private mutating func addParts(of text: borrowing Secret) throws {
        // Before anything is asked it is known what there is.
        let parts = try parts(of: text)
        let isOnly = { (part: Part) in !parts.isEmpty && parts.allSatisfy { $0 == part } }
        try check(isOnly(.certificates) ? .pkcs7 : isOnly(.pkcs12) ? .pkcs12 : .pem)
        let reader = try PEMReader(text.bytes)
        var number = 0
        while let block = try reader.next() {
            number += 1
            do {
                try add(block, parts.count > 1 ? number : nil)
            } catch let error as CryptoError {
                throw failure(error, "part \(number) of the file, \(block.label),")
            }
        }
    }

    /// What the parts are; nil for those that are nothing to import.
    private func parts(of text: borrowing Secret) throws -> [Part?] {
        var parts: [Part?] = []
        do throws(CryptoError) {
            let reader = try PEMReader(text.bytes)
            while let block = try reader.next() { parts.append(Part(block)) }
        } catch {
            throw KeychainError(
                .decode, "part \(parts.count + 1) of '\(name)' cannot be read: \(error)",
                remedy: "it may have been cut; copy the file anew")
        }
        return parts
    }

    /// - Parameter number: which part it is, where there are several.
    private mutating func add(_ block: borrowing PEMBlock, _ number: Int?) throws {
        func der() -> [UInt8] {
            let bytes = block.der.bytes
            return bytes.indices.map { bytes[$0] }
        }
        guard let part = Part(block) else { return others.append(block.label) }
        guard part.kind.map(wants) ?? true else { return }
        switch part {
        case .certificate: certificates.append(try Certificate(der: der()))
        case .certificates: certificates += try CertificateSet.parse(der())
        case .publicKey: publicKeys.append(try PublicKey(spki: der()))
        case .rsaPublicKey: publicKeys.append(try PublicKey(externalRepresentation: der(), family: .rsa))
        case .privateKey:
            let key = try open(number, { () throws(CryptoError) in try PrivateKey(block) }) {
                (password) throws(CryptoError) in try PrivateKey(block, password: password)
            }
            if let key { try add(key) }
        case .pkcs12:
            let der = der()
            let bag = try open(number, { () throws(CryptoError) in try PKCS12.parse(der) }) {
                (password) throws(CryptoError) in try PKCS12.parse(der, password: password)
            }
            if let bag { add(bag) }
        }
    }
}

// MARK: - Everything else

extension ImportedFile {
    private mutating func addWhole(_ bytes: inout [UInt8]) throws {
        if let certificate = try? Certificate(der: bytes) {
            if try wants(.cert, of: .x509) { certificates = [certificate] }
        } else if let set = try? CertificateSet.parse(bytes), !set.isEmpty {
            if try wants(.cert, of: .pkcs7) { certificates = set }
        } else if let bag = try pkcs12(bytes) {
            add(bag)
        } else if OpenSSHPublicKeys.areIn(bytes) {
            if try wants(.pub, of: .key) { publicKeys = try OpenSSHPublicKeys.parse(bytes) }
        } else if let key = ImportedFile.publicKey(bytes) {
            // The DER of a public key could also be that of an encrypted private one, which it is not.
            if try wants(.pub, of: .key) { publicKeys = [key] }
        } else if let key = try privateKey(Secret(consuming: &bytes)) {
            try add(key)
        }
    }

    /// - Returns: nil where the bytes are no PKCS#12 at all.
    private func pkcs12(_ der: [UInt8]) throws -> PKCS12? {
        func isWanted() throws -> Bool {
            try check(.pkcs12)
            return true
        }
        do {
            return try open(where: isWanted, { () throws(CryptoError) in try PKCS12.parse(der) }) {
                (password) throws(CryptoError) in try PKCS12.parse(der, password: password)
            }
        } catch let error as CryptoError where error.code == .malformed {
            return nil
        }
    }

    private static func publicKey(_ der: [UInt8]) -> PublicKey? {
        (try? PublicKey(spki: der)) ?? (try? PublicKey(externalRepresentation: der, family: .rsa))
    }

    /// - Returns: nil for one that is not wanted.
    /// - Throws: for bytes that are no private key either.
    private func privateKey(_ bytes: borrowing Secret) throws -> PrivateKey? {
        do {
            return try open(
                where: { try wants(.priv, of: .key) },
                { () throws(CryptoError) in try PrivateKey(encoded: bytes) },
                { (password) throws(CryptoError) in try PrivateKey(encoded: bytes, password: password) })
        } catch let error as CryptoError where error.code == .malformed {
            throw unknownFormat
        }
    }
}

/// What opens the encrypted parts of a file. It is asked for once, and again for what nothing opens that was given before.
final class FilePassphrase {
    private let argument: String?
    private let name: String
    private let context: AuthenticationContext
    private var known: [SharedSecret] = []

    /// - Parameters:
    ///   - argument: the passphrase, where it is one.
    ///   - name: what the file is called.
    init(_ argument: String?, of name: String, _ context: AuthenticationContext) {
        (self.argument, self.name) = (argument, name)
        self.context = context
    }

    /// - Parameter part: which part of the file it is, where there are several.
    func open<Content>(
        _ part: Int?, _ decrypt: (borrowing Secret) throws(CryptoError) -> Content
    ) throws -> Content {
        var refusal: CryptoError?
        for password in known {
            do throws(CryptoError) { return try decrypt(password.secret) } catch {
                guard error.code == .wrongPassword else { throw error }
                refusal = error
            }
        }
        // One that was given as an argument is no other the second time.
        if argument != nil, let refusal { throw refusal }
        let password = SharedSecret(try ask(part))
        known.append(password)
        return try decrypt(password.secret)
    }

    private func ask(_ part: Int?) throws -> Secret {
        if let argument { return SecretArgument.secret(argument) }
        let use = part.map { "open part \($0) of it" } ?? "open it"
        return try context.askForAnother(PromptRequest(.password, subject: name, use: use))
    }
}
