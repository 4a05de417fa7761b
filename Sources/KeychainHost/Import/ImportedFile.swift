internal import SecureBytes
public import SystemCrypto

/// Certificates and keys that are read from a file, or from what a program has of one.
public struct ImportedFile {
    /// What is imported of a file, by the names of macOS's `security`: keys of three kinds, certificates, or all.
    public enum Kind: String, CaseIterable, Sendable {
        case pub, priv, session, cert, agg
    }

    /// What a file is said to be, by the same names.
    public enum Format: String, CaseIterable, Sendable {
        case openssl, pkcs7, pkcs8, pkcs12, pemseq, x509, openssh2

        fileprivate func accepts(_ found: FoundFormat) -> Bool {
            switch self {
            case .pkcs7: found == .pkcs7
            case .pkcs12: found == .pkcs12
            case .pemseq: [.pem, .pkcs7, .pkcs12].contains(found)
            case .x509: found == .x509 || found == .pem
            case .openssl, .pkcs8, .openssh2: found == .pem || found == .key
            }
        }
    }

    /// What the file turned out to be.
    public enum FoundFormat: Sendable {
        case pem, x509, pkcs7, pkcs12, key
    }

    public private(set) var format = FoundFormat.pem
    public private(set) var certificates: [Certificate] = []
    public private(set) var keys: [PrivateKey] = []
    public private(set) var publicKeys: [PublicKey] = []
    /// What PEM calls the parts that are nothing to import.
    public private(set) var others: [String] = []
    private var friendlyNames: [[UInt8]: String] = [:]

    private let name: String
    private let kind: Kind
    private let expected: Format?
    private let passphrase: FilePassphrase

    /// Bytes that a file may have.
    public static let maximumLength = 1 << 20

    /// Reads what is wanted of a file; nothing else is opened.
    ///
    /// - Parameters:
    ///   - bytes: the file. They are overwritten where they may be a key that is not encrypted.
    ///   - name: what people call the file.
    ///   - kind: what is wanted. Of PKCS#12 all is, as by macOS's `security`.
    ///   - format: what the file must be; anything if nil.
    /// - Throws: for a part that is not what it says, and nothing of the file is imported then; `errSecUnknownFormat` where nothing
    ///   in it can be imported; `errSecUnsupportedFormat` for a key that nothing could be done with; `errSecDataTooLarge`; where there
    ///   is no passphrase, `errSecPassphraseRequired`.
    public init(
        _ bytes: inout [UInt8], named name: String, kind: Kind = .agg, format: Format? = nil,
        passphrase: FilePassphrase
    ) throws(KeychainError) {
        guard kind != .session else {
            throw KeychainError(.unsupportedFormat, "symmetric keys are not imported from files")
        }
        guard bytes.count <= ImportedFile.maximumLength else {
            throw KeychainError(
                .dataTooLarge, "'\(name)' has more than the \(ImportedFile.maximumLength) bytes that can be imported")
        }
        (self.name, self.kind, expected) = (name, kind, format)
        self.passphrase = passphrase
        if PEM.isPEM(bytes.span) {
            try addParts(of: Secret(consuming: &bytes))
        } else {
            do throws(ImportFailure) { try addWhole(&bytes) } catch { throw explained(error, "'\(name)'") }
        }
        for kind in keys.map(\.kind) + publicKeys.map(\.kind) { try NewItem.checkUsable(kind) }
        guard certificates.isEmpty && keys.isEmpty && publicKeys.isEmpty else { return }
        guard kind == .agg else {
            throw KeychainError(.unknownFormat, "the file holds nothing of type '\(kind.rawValue)'")
        }
        throw unknownFormat
    }

    /// Makes an item of each certificate, public key and private key, in this order.
    ///
    /// - Parameters:
    ///   - attributes: those that the items of a class are to have. A key without a label gets the one that the file has for it, or
    ///     its certificate's common name.
    ///   - privateKeys: those that private keys are to have beside.
    /// - Throws: what `add` does, and what making an item does.
    public func forEachItem(
        _ attributes: (ItemClass) -> Attributes = { _ in [:] }, privateKeys: Attributes,
        _ add: (borrowing NewItem) throws(KeychainError) -> Void
    ) throws(KeychainError) {
        for certificate in certificates { try add(.certificate(certificate, attributes(.certificate))) }
        let given = attributes(.key)
        for key in publicKeys { try add(.publicKey(key, given.labelled("Imported Public Key"))) }
        for key in keys {
            let own = given.merging(privateKeys) { $1 }
            try add(.privateKey(key, own.labelled(label(of: key) ?? "Imported Private Key")))
        }
    }

    /// What to call a key: as its file does, or as its certificate.
    private func label(of key: PrivateKey) -> String? {
        let hash = key.publicKey.keyHash
        return friendlyNames[hash] ?? certificates.first { $0.keyHash == hash }?.commonName
    }

    private mutating func add(_ key: PrivateKey) throws(ImportFailure) {
        try ImportFailure.mapping { () throws(CryptoError) in try key.checkParts() }
        keys.append(key)
    }

    private mutating func add(_ bag: PKCS12) {
        certificates += bag.certificates
        keys += bag.keys
        friendlyNames.merge(bag.friendlyNames) { first, _ in first }
    }

    // MARK: What is wanted

    private func wants(_ other: Kind) -> Bool { kind == .agg || kind == other }

    /// Whether what is in a file of that format is wanted.
    ///
    /// - Throws: where the file is said to be of another.
    private func wants(_ other: Kind, of format: FoundFormat) throws(ImportFailure) -> Bool {
        do throws(KeychainError) { try check(format) } catch { throw .explained(error) }
        return wants(other)
    }

    private func check(_ format: FoundFormat) throws(KeychainError) {
        guard let expected, !expected.accepts(format) else { return }
        throw KeychainError(.unknownFormat, "'\(name)' is not of the format \(expected.rawValue)")
    }

    // MARK: What is encrypted

    /// What is read of a file or a part of it; a passphrase is asked for only of what is encrypted.
    ///
    /// - Returns: nil for what is not wanted.
    private func open<Content>(
        _ part: Int? = nil, where isWanted: () throws(ImportFailure) -> Bool = { true },
        _ read: () throws(CryptoError) -> Content,
        _ decrypt: (borrowing Secret) throws(CryptoError) -> Content
    ) throws(ImportFailure) -> Content? {
        var content: Content?
        var refusal: CryptoError?
        do throws(CryptoError) { content = try read() } catch {
            guard [.passwordRequired, .wrongPassword].contains(error.code) else { throw .unexplained(error) }
            refusal = error
        }
        guard try isWanted() else { return nil }
        if let refusal { content = try passphrase.open(part, refusal, decrypt) }
        return content
    }

    // MARK: What cannot be read

    private var unknownFormat: KeychainError {
        KeychainError(
            .unknownFormat, "'\(name)' has none of the formats that can be imported",
            remedy: "use PEM, DER, PKCS#7, PKCS#8 or PKCS#12")
    }

    private func explained(_ failure: ImportFailure, _ place: String) -> KeychainError {
        let error: CryptoError
        switch failure {
        case .explained(let explained): return explained
        case .unexplained(let unexplained): error = unexplained
        }
        return switch error.code {
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
        var kind: Kind? {
            switch self {
            case .certificate, .certificates: .cert
            case .publicKey, .rsaPublicKey: .pub
            case .privateKey: .priv
            case .pkcs12: nil
            }
        }
    }

    private mutating func addParts(of text: borrowing Secret) throws(KeychainError) {
        // Before anything is asked it is known what there is.
        let parts = try parts(of: text)
        let isOnly = { (part: Part) in !parts.isEmpty && parts.allSatisfy { $0 == part } }
        format = isOnly(.certificates) ? .pkcs7 : isOnly(.pkcs12) ? .pkcs12 : .pem
        try check(format)
        let reader = try KeychainError.mapping { () throws(CryptoError) in try PEMReader(text.bytes) }
        var number = 0
        while let block = try KeychainError.mapping({ () throws(CryptoError) in try reader.next() }) {
            number += 1
            do throws(ImportFailure) { try add(block, parts.count > 1 ? number : nil) } catch {
                throw explained(error, "part \(number) of the file, \(block.label),")
            }
        }
    }

    /// What the parts are; nil for those that are nothing to import.
    private func parts(of text: borrowing Secret) throws(KeychainError) -> [Part?] {
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
    private mutating func add(_ block: borrowing PEMBlock, _ number: Int?) throws(ImportFailure) {
        func der() -> [UInt8] {
            let bytes = block.der.bytes
            return bytes.indices.map { bytes[$0] }
        }
        guard let part = Part(block) else { return others.append(block.label) }
        guard part.kind.map(wants) ?? true else { return }
        switch part {
        case .certificate:
            certificates.append(try ImportFailure.mapping { () throws(CryptoError) in try Certificate(der: der()) })
        case .certificates:
            certificates += try ImportFailure.mapping { () throws(CryptoError) in try CertificateSet.parse(der()) }
        case .publicKey:
            publicKeys.append(try ImportFailure.mapping { () throws(CryptoError) in try PublicKey(spki: der()) })
        case .rsaPublicKey:
            publicKeys.append(
                try ImportFailure.mapping { () throws(CryptoError) in
                    try PublicKey(externalRepresentation: der(), family: .rsa)
                })
        case .privateKey:
            let key = try open(number, { () throws(CryptoError) in try PrivateKey(block) }) {
                (password) throws(CryptoError) in try PrivateKey(block, password: password)
            }
            if let key { try add(key) }
        case .pkcs12:
            if let bag = try openPKCS12(der(), number) { add(bag) }
        }
    }
}

// MARK: - Everything else

extension ImportedFile {
    private mutating func addWhole(_ bytes: inout [UInt8]) throws(ImportFailure) {
        if let certificate = try? Certificate(der: bytes) {
            format = .x509
            if try wants(.cert, of: format) { certificates = [certificate] }
        } else if let set = try? CertificateSet.parse(bytes), !set.isEmpty {
            format = .pkcs7
            if try wants(.cert, of: format) { certificates = set }
        } else if let bag = try pkcs12(bytes) {
            format = .pkcs12
            add(bag)
        } else {
            format = .key
            try addKeys(&bytes)
        }
    }

    private mutating func addKeys(_ bytes: inout [UInt8]) throws(ImportFailure) {
        if OpenSSHPublicKeys.areIn(bytes) {
            guard try wants(.pub, of: .key) else { return }
            let text = bytes
            publicKeys = try ImportFailure.mapping { () throws(CryptoError) in try OpenSSHPublicKeys.parse(text) }
        } else if let key = ImportedFile.publicKey(bytes) {
            // The DER of a public key could also be that of an encrypted private one, which it is not.
            if try wants(.pub, of: .key) { publicKeys = [key] }
        } else if let key = try privateKey(Secret(consuming: &bytes)) {
            try add(key)
        }
    }

    /// - Returns: nil where the bytes are no PKCS#12 at all.
    private func pkcs12(_ der: [UInt8]) throws(ImportFailure) -> PKCS12? {
        func isWanted() throws(ImportFailure) -> Bool {
            _ = try wants(.agg, of: .pkcs12)
            return true
        }
        do throws(ImportFailure) {
            return try openPKCS12(der, where: isWanted)
        } catch {
            guard error.isMalformed else { throw error }
            return nil
        }
    }

    /// - Throws: `errSecPkcs12VerifyFailure` for a wrong passphrase, by which programs of macOS know it.
    private func openPKCS12(
        _ der: [UInt8], _ part: Int? = nil, where isWanted: () throws(ImportFailure) -> Bool = { true }
    ) throws(ImportFailure) -> PKCS12? {
        do throws(ImportFailure) {
            return try open(part, where: isWanted, { () throws(CryptoError) in try PKCS12.parse(der) }) {
                (password) throws(CryptoError) in try PKCS12.parse(der, password: password)
            }
        } catch {
            guard case .unexplained(let refusal) = error, refusal.code == .wrongPassword else { throw error }
            throw .explained(KeychainError(.pkcs12VerifyFailure, "\(refusal)"))
        }
    }

    private static func publicKey(_ der: [UInt8]) -> PublicKey? {
        (try? PublicKey(spki: der)) ?? (try? PublicKey(externalRepresentation: der, family: .rsa))
    }

    /// - Returns: nil for one that is not wanted.
    /// - Throws: for bytes that are no private key either.
    private func privateKey(_ bytes: borrowing Secret) throws(ImportFailure) -> PrivateKey? {
        do throws(ImportFailure) {
            return try open(
                where: { () throws(ImportFailure) in try wants(.priv, of: .key) },
                { () throws(CryptoError) in try PrivateKey(encoded: bytes) },
                { (password) throws(CryptoError) in try PrivateKey(encoded: bytes, password: password) })
        } catch {
            throw error.isMalformed ? .explained(unknownFormat) : error
        }
    }
}

extension Attributes {
    /// With a label, where there is none yet.
    fileprivate func labelled(_ standard: String) -> Attributes {
        merging([.label: .string(standard)]) { own, _ in own }
    }
}
