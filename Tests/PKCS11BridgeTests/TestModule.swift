import CCryptoki
import CryptokiNames
import KeychainHost
import KeychainModel
import PIVDriver
import Platform
import SecureBytes
import Synchronization
import SystemCrypto
import TestSupport
import TokenKit
import VirtualCard

@testable import PKCS11Bridge

/// The module in this process, over readers and a home of the test's own. The cards' PIN is 123456.
struct TestModule {
    let folder: TemporaryFolder
    let readers: [VirtualReader]
    let cryptoki: Cryptoki
    let process: ProcessKeychains
    let host: Host

    /// - Parameters:
    ///   - other: a module whose home this one shares, as another program of the same user.
    ///   - cards: the cards that this module shares with other programs of a host.
    ///   - asksEachTime: whether a person has to allow each use of a PIN.
    ///   - permission: the way to a person's permission for what this module's program does.
    init(
        _ readers: VirtualReader..., filter: TokenFilter = TokenFilter(), promptPolicy: PromptPolicy = PromptPolicy(),
        sharing other: TestModule? = nil, cards: SharedCards? = nil, askingEachTime asksEachTime: Bool = false,
        permission: Permission? = nil, knownCards: KnownCards? = nil, log: Log = Log(),
        watchingReaders watch: @escaping Host.ReaderWatch = { $0.run($1) }
    ) throws {
        let folder = try other?.folder ?? TemporaryFolder()
        let home = folder.path
        self.folder = folder
        self.readers = readers
        let preferences = KeychainPreferences(
            directories: Directories(system: home + "/etc") {
                ["HOME": home, "XDG_RUNTIME_DIR": home + "/run"][$0]
            })
        process = ProcessKeychains(
            preferences, sharedCards: cards, askingEachTime: asksEachTime,
            drivers: {
                [
                    PIVDriver(
                        memory: $0.tokens, certificates: $0.certificates, rejectedPINs: $0.rejectedPINs,
                        provesBeforePIN: $0.provesBeforePIN)
                ]
            },
            readers: { readers })
        let host = Host(
            forTokensOf: process, prompter: promptPolicy.prompter, touchPrompter: promptPolicy.touchPrompter,
            knownCards: knownCards, watchingReaders: watch
        ) { line in log.write(line) }
        self.host = permission.map { host.asking(for: $0) } ?? host
        cryptoki = Cryptoki(self.host, filter: filter, promptPolicy: promptPolicy, log: log)
    }

    /// Makes a keychain of the search list, with the password "open".
    func keychain(_ name: String = "login") throws -> LocalKeychain {
        try process.preferences.create(name, password: Secret.of("open"), cost: ScryptCost(n: 2, r: 1, p: 1))
    }

    var reader: VirtualReader { readers[0] }

    /// The ids of the slots with a token.
    var slots: [CK_SLOT_ID] { cryptoki.slotList(withToken: true, refreshing: true) }

    /// A session with the first token.
    func session(loggedIn: Bool = false, pin: String = "123456") throws -> CK_SESSION_HANDLE {
        let session = try cryptoki.openSession(slots[0], flags: CKF_SERIAL_SESSION | CKF_RW_SESSION)
        if loggedIn { try cryptoki.logIn(session, CKU_USER, pin: .of(pin)) }
        return session
    }

    func find(
        _ session: CK_SESSION_HANDLE, _ attributes: (CK_ATTRIBUTE_TYPE, [UInt8])...
    ) throws -> [CK_OBJECT_HANDLE] {
        try cryptoki.findObjectsInit(session, Template(attributes.map { (type: $0.0, value: $0.1) }))
        defer { try? cryptoki.findObjectsFinal(session) }
        return try cryptoki.findObjects(session, limit: 1_000)
    }

    /// The key of a class and an id.
    func key(
        _ session: CK_SESSION_HANDLE, _ id: [UInt8], _ objectClass: CK_OBJECT_CLASS = CKO_PRIVATE_KEY
    ) throws -> CK_OBJECT_HANDLE {
        guard let found = try find(session, (CKA_CLASS, Encoded.ulong(objectClass)), (CKA_ID, id)).first else {
            throw CryptokiError(CKR_KEY_HANDLE_INVALID, "no object \(id)")
        }
        return found
    }

    func value(_ session: CK_SESSION_HANDLE, _ object: CK_OBJECT_HANDLE, _ type: CK_ATTRIBUTE_TYPE) throws -> [UInt8] {
        switch try cryptoki.reader(of: object, in: session).value(type) {
        case .value(let value): return value
        case .secret(let secret): return secret.copy
        case .refused(let code): throw CryptokiError(code)
        }
    }

    func publicKey(_ session: CK_SESSION_HANDLE, _ id: [UInt8]) throws -> PublicKey {
        try PublicKey(spki: value(session, key(session, id, CKO_PUBLIC_KEY), CKA_PUBLIC_KEY_INFO))
    }

    func sign(
        _ session: CK_SESSION_HANDLE, _ mechanism: MechanismRequest, _ key: CK_OBJECT_HANDLE, _ data: [UInt8]
    ) throws -> [UInt8] {
        try cryptoki.signInit(session, mechanism, key: key)
        return try bytes(of: cryptoki.sign(session, data, .bytes(1_024)))
    }
}

/// Tests of a keychain that is the module's one token; its password is "open".
protocol KeychainTokenTest {
    var module: TestModule { get }
    var keychain: LocalKeychain { get }
}

extension KeychainTokenTest {
    var cryptoki: Cryptoki { module.cryptoki }

    func session() throws -> CK_SESSION_HANDLE { try module.session(loggedIn: true, pin: "open") }

    /// Adds a key and its certificate.
    func addIdentity(_ name: String, _ kind: KeyKind = .ecP256) throws -> PrivateKey {
        let key = try PrivateKey.generate(kind)
        let certificate = try CertificateBuilder(
            commonName: name, publicKey: key.publicKey, notBefore: 1_600_000_000, notAfter: 1_900_000_000
        ).selfSigned(by: kind == .x25519 ? PrivateKey.generate(.ecP256) : key)
        try keychain.add(.privateKey(key, [.label: .string(name)]))
        try keychain.add(.certificate(certificate))
        return key
    }
}

/// The bytes of an output; none where there is only a length.
func bytes(of output: consuming Output) -> [UInt8] {
    switch consume output {
    case .bytes(let bytes): return bytes
    case .secret(let secret): return secret.copy
    case .length: return []
    }
}

/// The length that is needed; nil where there are bytes.
func length(of output: consuming Output) -> Int? {
    switch consume output {
    case .length(let length): return length
    case .bytes: return nil
    case .secret: return nil
    }
}

extension Secret {
    static func of(_ text: String) -> Secret {
        var bytes = Array(text.utf8)
        return Secret(consuming: &bytes)
    }

    var copy: [UInt8] {
        let span = bytes
        return span.indices.map { span[$0] }
    }
}

/// The return value that a call ends with; `CKR_OK` where it does not fail.
func returned(_ body: () throws -> Void) -> CK_RV {
    do {
        try body()
        return CKR_OK
    } catch {
        return (error as? CryptokiError)?.code ?? .max
    }
}

/// Cards are made once, because RSA keys take long.
enum Cards {
    /// RSA 2048 in 9A, P-256 in 9C, P-384 in 9D, P-256 in 9E.
    static func mixed(_ profile: CardProfile = .yubiKey57) throws -> VirtualCard {
        var builder = VirtualCardBuilder(profile: profile)
        builder.keys[.authentication] = .init(.rsa2048)
        builder.keys[.signature] = .init(.p256)
        builder.keys[.keyManagement] = .init(.p384)
        builder.keys[.cardAuthentication] = .init(.p256)
        return try builder.build()
    }

    static func plain(_ algorithm: CardAlgorithm = .p256, _ profile: CardProfile = .generic) throws -> VirtualCard {
        try VirtualCardBuilder(profile: profile, fourKeys: algorithm).build()
    }
}

extension VirtualReader {
    /// Commands without the continuations of others.
    var commands: [LoggedCommand] { log.filter { !$0.isContinuation } }

    /// Commands that had a PIN in them.
    var pinsSent: Int { log.count { [0x20, 0x24, 0x2C].contains($0.ins) && $0.dataCount > 0 } }
}
