internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import SystemCrypto

/// Certificates and keys parsed from the bytes of a file.
struct ImportedFile {
    private(set) var format = ImportedContent.Format.pem
    private(set) var certificates: [Certificate] = []
    private(set) var keys: [PrivateKey] = []
    private(set) var publicKeys: [PublicKey] = []
    /// The PEM labels of the blocks that cannot be imported.
    private(set) var others: [String] = []
    private var friendlyNames: [[UInt8]: String] = [:]

    private let name: String
    private let kind: ImportRequest.Kind
    private let expected: ImportRequest.Format?
    private let passphrase: FilePassphrase

    /// Parses a file. Decrypts only parts of the requested kind.
    ///
    /// - Parameters:
    ///   - bytes: the file's content, overwritten where it may hold an unencrypted key.
    ///   - name: the file name for prompts and errors.
    ///   - kind: the item types to import. PKCS#12 is always imported as a whole, as by macOS's `security`.
    ///   - format: the required format; any if nil.
    /// - Throws: `errSecDecode` for a malformed part; `errSecUnknownFormat` for a file without anything to import;
    ///   `errSecUnsupportedFormat` for an unsupported kind of key; `errSecDataTooLarge`; `errSecPassphraseRequired` for an encrypted
    ///   part without a passphrase.
    init(
        _ bytes: inout [UInt8], named name: String, kind: ImportRequest.Kind = .agg,
        format: ImportRequest.Format? = nil,
        passphrase: FilePassphrase
    ) throws(KeychainError) {
        guard kind != .session else {
            throw KeychainError(.unsupportedFormat, "symmetric keys are not imported from files")
        }
        guard bytes.count <= ImportRequest.maximumLength else {
            throw KeychainError(
                .dataTooLarge, "'\(name)' has more than the \(ImportRequest.maximumLength) bytes that can be imported")
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

    /// Calls `add` with a new item for each certificate, public key and private key, in this order.
    ///
    /// - Parameters:
    ///   - attributes: the attributes of new items, by class. Without a label among them, a private key gets its friendly name in the
    ///     file, or its certificate's common name.
    ///   - privateKeys: additional attributes of private keys.
    /// - Throws: the errors of `add`, and `errSecParam` for attributes that the class does not have.
    func forEachItem(
        _ attributes: (ItemClass) -> Attributes = { _ in [:] }, privateKeys: Attributes,
        _ add: (NewItem) throws(KeychainError) -> Void
    ) throws(KeychainError) {
        for certificate in certificates { try add(.certificate(certificate, attributes(.certificate))) }
        let given = attributes(.key)
        for key in publicKeys { try add(.publicKey(key, given.labelled("Imported Public Key"))) }
        for key in keys {
            let own = given.merging(privateKeys) { $1 }
            try add(.privateKey(key, own.labelled(label(of: key) ?? "Imported Private Key")))
        }
    }

    /// The label of a private key: its friendly name in the file, or its certificate's common name.
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

    // MARK: Requested types

    private func wants(_ other: ImportRequest.Kind) -> Bool { kind == .agg || kind == other }

    /// Tells whether items of a type are to be imported.
    ///
    /// - Throws: `errSecUnknownFormat` for a detected format that is not the expected one.
    private func wants(_ other: ImportRequest.Kind, of format: ImportedContent.Format) throws(ImportFailure) -> Bool {
        do throws(KeychainError) { try check(format) } catch { throw .explained(error) }
        return wants(other)
    }

    private func check(_ format: ImportedContent.Format) throws(KeychainError) {
        guard let expected, !expected.accepts(format) else { return }
        throw KeychainError(.unknownFormat, "'\(name)' is not of the format \(expected.rawValue)")
    }

    // MARK: Decryption

    /// Reads a file or a part of it, decrypting it where that takes a passphrase.
    ///
    /// - Returns: nil for a part of another type than the requested.
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

    // MARK: Errors

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
        case .wrongPassword: KeychainError(.authFailed, "the password of \(place) is wrong")
        default: KeychainError(error)
        }
    }
}

// MARK: - PEM

extension ImportedFile {
    /// The content type of a PEM block, by its label.
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

        /// The item type of the content; nil for PKCS#12, which is imported as a whole.
        var kind: ImportRequest.Kind? {
            switch self {
            case .certificate, .certificates: .cert
            case .publicKey, .rsaPublicKey: .pub
            case .privateKey: .priv
            case .pkcs12: nil
            }
        }
    }

    private mutating func addParts(of text: borrowing Secret) throws(KeychainError) {
        // The format is checked before a passphrase is asked for.
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

    /// The content types of all PEM blocks; nil for a block that cannot be imported.
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

    /// - Parameter number: the number of the block; nil for the only one.
    private mutating func add(_ block: borrowing PEMBlock, _ number: Int?) throws(ImportFailure) {
        func der() -> [UInt8] {
            let bytes = block.der.bytes
            return Array(copying: bytes)
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
            // Public keys first: PrivateKey would take their DER for an encrypted private key.
            if try wants(.pub, of: .key) { publicKeys = [key] }
        } else if let key = try privateKey(Secret(consuming: &bytes)) {
            try add(key)
        }
    }

    /// - Returns: nil for bytes that are not PKCS#12.
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

    /// - Throws: `errSecPkcs12VerifyFailure` for a wrong passphrase, as macOS does.
    private func openPKCS12(
        _ der: [UInt8], _ part: Int? = nil, where isWanted: () throws(ImportFailure) -> Bool = { true }
    ) throws(ImportFailure) -> PKCS12? {
        do throws(ImportFailure) {
            return try open(part, where: isWanted, { () throws(CryptoError) in try PKCS12.parse(der) }) {
                (password) throws(CryptoError) in try PKCS12.parse(der, password: password)
            }
        } catch {
            guard case .unexplained(let refusal) = error, refusal.code == .wrongPassword else { throw error }
            throw .explained(KeychainError(.pkcs12VerifyFailure, "the password of '\(name)' is wrong"))
        }
    }

    private static func publicKey(_ der: [UInt8]) -> PublicKey? {
        (try? PublicKey(spki: der)) ?? (try? PublicKey(externalRepresentation: der, family: .rsa))
    }

    /// - Returns: nil where private keys were not requested.
    /// - Throws: `errSecUnknownFormat` for bytes that are not a private key.
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

extension ImportRequest.Format {
    fileprivate func accepts(_ found: ImportedContent.Format) -> Bool {
        switch self {
        case .pkcs7: found == .pkcs7
        case .pkcs12: found == .pkcs12
        case .pemseq: [.pem, .pkcs7, .pkcs12].contains(found)
        case .x509: found == .x509 || found == .pem
        case .openssl, .pkcs8, .openssh2: found == .pem || found == .key
        }
    }
}

extension Attributes {
    /// Adds a label where there is none.
    fileprivate func labelled(_ standard: String) -> Attributes {
        merging([.label: .string(standard)]) { own, _ in own }
    }
}
