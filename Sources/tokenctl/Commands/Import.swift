internal import ArgumentParser
internal import KeychainHost
internal import SystemCrypto
internal import TokenKit

struct Import: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Import certificates and private keys into a local keychain.",
        discussion: """
            Takes certificates in PEM or DER, private keys in PKCS#8, PKCS#1 or SEC 1, and PKCS#12. What is in the \
            keychain already is left as it is.
            """)

    @Argument(help: "The file; - for standard input.")
    var file: String

    @Option(name: .customShort("k"), help: "The keychain.")
    var keychain = "login"

    @Option(name: .customShort("l"), help: "The label of an imported key.")
    var label: String?

    @OptionGroup var authentication: AuthenticationOptions

    func run() throws {
        let context = try authentication.context()
        let content = try ImportedFile(Input(file), context)
        let opened = try LocalKeychain.open(Directories.own.path(ofKeychain: keychain))
        if !content.keys.isEmpty { try opened.unlock(use: "import a key", authentication: context) }
        var counts = Counts()
        for certificate in content.certificates {
            try counts.add { () throws(KeychainError) in try opened.add(.certificate(certificate)) }
        }
        for key in content.keys {
            let name = label ?? content.label(of: key) ?? "Imported Private Key"
            try counts.add { () throws(KeychainError) in try opened.add(.privateKey(key, [.label: .string(name)])) }
        }
        counts.report(certificates: content.certificates.count, keys: content.keys.count)
    }

    private struct Counts {
        private var duplicates = 0

        mutating func add(_ body: () throws(KeychainError) -> Item) throws(KeychainError) {
            do {
                _ = try body()
            } catch  where error.code == .duplicateItem {
                duplicates += 1
            }
        }

        func report(certificates: Int, keys: Int) {
            let parts = [(certificates, "certificate"), (keys, "key")].filter { $0.0 > 0 }
            for (count, noun) in parts { print("\(count) \(noun)\(count == 1 ? "" : "s") read.") }
            if duplicates > 0 { print("\(duplicates) of them \(duplicates == 1 ? "was" : "were") there already.") }
        }
    }
}

/// What a file holds that can be imported.
struct ImportedFile {
    private(set) var certificates: [Certificate] = []
    private(set) var keys: [PrivateKey] = []
    private var friendlyName: String?

    init(_ input: Input, _ context: AuthenticationContext) throws {
        var bytes = try input.whole()
        let isPEM = PEM.isPEM(bytes.span)
        certificates = (try? Certificate.all(in: bytes)) ?? []
        if !isPEM, !certificates.isEmpty { return }
        if !isPEM, let bag = try ImportedFile.pkcs12(bytes, input.name, context) {
            (certificates, keys, friendlyName) = (bag.certificates, bag.keys, bag.friendlyName)
            return
        }
        let secret = Secret(consuming: &bytes)
        if let key = try ImportedFile.privateKey(secret, input.name, context) { keys = [key] }
        guard !certificates.isEmpty || !keys.isEmpty else {
            throw KeychainError(
                .unknownFormat, "'\(input.name)' is none of the formats that can be imported",
                remedy: "use PEM, DER, PKCS#8 or PKCS#12")
        }
    }

    /// What to call a key: as its file does, or as its certificate.
    func label(of key: PrivateKey) -> String? {
        friendlyName ?? certificates.first { $0.keyHash == key.publicKey.keyHash }?.commonName
    }

    /// - Returns: nil where the bytes are no PKCS#12 at all.
    private static func pkcs12(_ der: [UInt8], _ name: String, _ context: AuthenticationContext) throws -> PKCS12? {
        let refusal: CryptoError
        do throws(CryptoError) { return try PKCS12.parse(der) } catch { refusal = error }
        switch refusal.code {
        case .malformed, .unsupported: return nil
        case .wrongPassword, .passwordRequired:
            let password = try context.prompter.ask(PromptRequest(.password, subject: name, use: "open it"))
            return try PKCS12.parse(der, password: password)
        default: throw refusal
        }
    }

    /// - Returns: nil where the bytes are no private key.
    private static func privateKey(
        _ bytes: borrowing Secret, _ name: String, _ context: AuthenticationContext
    ) throws -> PrivateKey? {
        let refusal: CryptoError
        do throws(CryptoError) { return try PrivateKey(encoded: bytes) } catch { refusal = error }
        switch refusal.code {
        case .malformed: return nil
        case .passwordRequired:
            let password = try context.prompter.ask(PromptRequest(.password, subject: name, use: "open it"))
            return try PrivateKey(encoded: bytes, password: password)
        default: throw refusal
        }
    }
}
