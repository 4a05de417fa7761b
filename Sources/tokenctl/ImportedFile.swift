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
    private(set) var format: Format
    /// What PEM calls the parts that are nothing to import.
    private(set) var others: [String] = []
    private var friendlyNames: [[UInt8]: String] = [:]

    init(_ input: Input, _ passphrase: Passphrase) throws {
        var bytes = try input.whole()
        let passphrase = FilePassphrase(passphrase)
        if PEM.isPEM(bytes.span) {
            format = .pem
            let text = Secret(consuming: &bytes)
            try addBlocks(of: text, passphrase)
        } else if let certificate = try? Certificate(der: bytes) {
            (certificates, format) = ([certificate], .x509)
        } else if let set = try? CertificateSet.parse(bytes), !set.isEmpty {
            (certificates, format) = (set, .pkcs7)
        } else if let bag = try ImportedFile.pkcs12(bytes, passphrase) {
            (certificates, keys, friendlyNames, format) = (bag.certificates, bag.keys, bag.friendlyNames, .pkcs12)
        } else if OpenSSHPublicKeys.areIn(bytes) {
            (publicKeys, format) = (try ImportedFile.openSSHKeys(bytes, in: input.name), .key)
        } else if let key = ImportedFile.publicKey(bytes) {
            // The DER of a public key could also be that of an encrypted private one, which it is not.
            (publicKeys, format) = ([key], .key)
        } else {
            format = .key
            let secret = Secret(consuming: &bytes)
            if let key = try ImportedFile.privateKey(secret, passphrase) { keys = [key] }
        }
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

    /// - Throws: for a block that is not what it says: nothing of the file is imported then.
    private mutating func addBlocks(of text: borrowing Secret, _ passphrase: FilePassphrase) throws {
        let reader = try PEMReader(text.bytes)
        var number = 0
        var isSet = true
        while let block = try reader.next() {
            number += 1
            do {
                isSet = try add(block, passphrase) && isSet
            } catch let error as CryptoError where error.code == .malformed {
                throw KeychainError(
                    .decode, "part \(number) of the file, \(Listing.printable(block.label)), cannot be read: \(error)",
                    remedy: "leave it out")
            }
        }
        if isSet { format = .pkcs7 }
    }

    /// - Returns: whether it was a set of certificates.
    private mutating func add(_ block: borrowing PEMBlock, _ passphrase: FilePassphrase) throws -> Bool {
        func der() -> [UInt8] {
            let bytes = block.der.bytes
            return bytes.indices.map { bytes[$0] }
        }
        switch block.label {
        case "CERTIFICATE", "X509 CERTIFICATE": certificates.append(try Certificate(der: der()))
        case "PKCS7", "CMS", "PKCS #7 SIGNED DATA":
            certificates += try CertificateSet.parse(der())
            return true
        case "PUBLIC KEY": publicKeys.append(try PublicKey(spki: der()))
        case "RSA PUBLIC KEY": publicKeys.append(try PublicKey(externalRepresentation: der(), family: .rsa))
        case _ where block.isPrivateKey:
            keys.append(
                try ImportedFile.opening({ () throws(CryptoError) in try PrivateKey(block) }, passphrase) {
                    (password) throws(CryptoError) in try PrivateKey(block, password: password)
                })
        default: others.append(block.label)
        }
        return false
    }

    /// - Returns: nil where the bytes are no PKCS#12 at all.
    private static func pkcs12(_ der: [UInt8], _ passphrase: FilePassphrase) throws -> PKCS12? {
        do {
            return try opening({ () throws(CryptoError) in try PKCS12.parse(der) }, passphrase) {
                (password) throws(CryptoError) in try PKCS12.parse(der, password: password)
            }
        } catch let error as CryptoError where error.code == .malformed || error.code == .unsupported {
            return nil
        }
    }

    private static func publicKey(_ bytes: [UInt8]) -> PublicKey? {
        (try? PublicKey(spki: bytes)) ?? (try? PublicKey(externalRepresentation: bytes, family: .rsa))
    }

    /// - Throws: for a line that is no key: nothing of the file is imported then.
    private static func openSSHKeys(_ text: [UInt8], in name: String) throws(KeychainError) -> [PublicKey] {
        do {
            return try OpenSSHPublicKeys.parse(text)
        } catch {
            throw KeychainError(
                error.code == .unsupported ? .unsupportedFormat : .decode, "'\(name)' cannot be read: \(error)",
                remedy: "leave that out")
        }
    }

    /// - Returns: nil where the bytes are no private key.
    private static func privateKey(_ bytes: borrowing Secret, _ passphrase: FilePassphrase) throws -> PrivateKey? {
        do {
            return try opening({ () throws(CryptoError) in try PrivateKey(encoded: bytes) }, passphrase) {
                (password) throws(CryptoError) in try PrivateKey(encoded: bytes, password: password)
            }
        } catch let error as CryptoError where error.code == .malformed {
            return nil
        }
    }

    /// Asks for the passphrase only of what is encrypted.
    private static func opening<Content>(
        _ read: () throws(CryptoError) -> Content, _ passphrase: FilePassphrase,
        _ decrypt: (borrowing Secret) throws(CryptoError) -> Content
    ) throws -> Content {
        do throws(CryptoError) {
            return try read()
        } catch {
            guard [.passwordRequired, .wrongPassword].contains(error.code) else { throw error }
        }
        return try passphrase.open(decrypt)
    }
}

/// What opens the encrypted parts of a file. It is asked for once, and again for what it does not open.
private final class FilePassphrase {
    private let passphrase: Passphrase
    private var known: SharedSecret?

    init(_ passphrase: Passphrase) { self.passphrase = passphrase }

    func open<Content>(_ decrypt: (borrowing Secret) throws(CryptoError) -> Content) throws -> Content {
        if let known {
            do throws(CryptoError) { return try decrypt(known.secret) } catch {
                guard error.code == .wrongPassword else { throw error }
                // One that was given as an argument is no other the second time.
                guard passphrase.argument == nil else { throw KeychainError(error) }
            }
        }
        let asked = SharedSecret(try passphrase.ask())
        known = asked
        do throws(CryptoError) { return try decrypt(asked.secret) } catch {
            guard error.code == .wrongPassword else { throw error }
            throw KeychainError(error)
        }
    }
}

/// A passphrase: given as an argument, or asked for.
struct Passphrase {
    let argument: String?
    let request: PromptRequest
    let context: AuthenticationContext

    func ask() throws -> Secret {
        if let argument { return SecretArgument.secret(argument) }
        return try context.prompter.ask(request)
    }
}
