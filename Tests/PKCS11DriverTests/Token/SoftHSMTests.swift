import HostAPI
import Localization
import ModuleConfiguration
import PKCS11Driver
import Platform
import SecureBytes
import Synchronization
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel

/// A real foreign module, used as a keychain.
@Suite struct SoftHSMTests {
    /// Gives prepared PINs, one after the other.
    private final class Giving: Prompter, @unchecked Sendable {
        private var pins: [String]
        private(set) var requests: [PromptRequest] = []

        init(_ pins: String...) { self.pins = pins }

        var canAsk: Bool { true }
        var canAskAgain: Bool { !pins.isEmpty }

        func ask(_ request: PromptRequest) throws(KeychainError) -> Secret {
            requests.append(request)
            guard !pins.isEmpty else { throw KeychainError(.userCanceled) }
            return Secret(copying: Array(pins.removeFirst().utf8).span)
        }

        func confirm(_ question: String) throws(KeychainError) -> Bool { false }
    }

    private static func with(
        _ objects: [[String]], hasRawRSA: Bool = true, _ body: (ForeignModule, ModuleKeychain) throws -> Void
    ) throws {
        let files = try ForeignModule(softHSM: objects, hasRawRSA: hasRawRSA)
        try withExtendedLifetime(files) { try body(files, ModuleKeychain(files.loaded())) }
    }

    private static func pair(_ kind: String, _ id: String, _ label: String, _ more: [String] = []) -> [String] {
        ["--keypairgen", "--key-type", kind, "--id", id, "--label", label] + more
    }

    private static func key(_ keychain: ModuleKeychain, _ name: String) throws -> any KeychainKey {
        try #require(try keychain.keys(.name(name)).first)
    }

    private static func bytes(_ secret: borrowing Secret) -> [UInt8] { secret.bytes.indices.map { secret.bytes[$0] } }

    private static func perform(
        _ action: TokenOperation.Action, _ key: any KeychainKey, _ prompter: any Prompter
    ) throws -> [UInt8] {
        bytes(try key.perform(action, use: "test", authentication: AuthenticationContext(prompter: prompter)))
    }

    private static let digest = [UInt8](repeating: 0x5A, count: 32)

    @Test(arguments: [true, false]) func anRSAKeySignsAndDecryptsWithRawRSAAndWithout(hasRawRSA: Bool) throws {
        try Self.with([Self.pair("rsa:2048", "01", "one")], hasRawRSA: hasRawRSA) { _, keychain in
            let key = try Self.key(keychain, "01")
            let publicKey = try PublicKey(spki: key.publicKey)
            let giving = Giving("123456")
            let plain = try Self.perform(.sign(.rsaPKCS1(.sha256), Self.digest), key, giving)
            #expect(try publicKey.verify(plain, digest: Self.digest, using: .rsaPKCS1(.sha256)))
            // The login holds for as long as the module's process does.
            let pss = try Self.perform(.sign(.rsaPSS(.sha256, saltLength: 32), Self.digest), key, giving)
            let scheme = SignatureAlgorithm.rsaPSS(.sha256, mgf1: .sha256, saltLength: 32)
            #expect(try publicKey.verify(pss, digest: Self.digest, using: scheme))
            let message = Array("to be kept secret".utf8)
            // SoftHSM's own OAEP has no other hash function.
            for encryption in [RSAEncryption.pkcs1, .oaep(hasRawRSA ? .sha256 : .sha1)] {
                let ciphertext = try publicKey.encrypt(message, using: encryption)
                let opened = try Self.perform(.decrypt(encryption, ciphertext), key, giving)
                #expect(opened == message)
            }
            #expect(giving.requests.count == 1)
            #expect(giving.requests.first?.subject.contains("soft in SoftHSM") == true)
        }
    }

    @Test func whatATokenWithoutRawRSADoesNotDoIsSaid() throws {
        try Self.with([Self.pair("rsa:2048", "01", "one")], hasRawRSA: false) { _, keychain in
            let key = try Self.key(keychain, "01")
            let publicKey = try PublicKey(spki: key.publicKey)
            let block = [UInt8](repeating: 0x11, count: 256)
            for action in [TokenOperation.Action.sign(.rsaRaw, block), .decrypt(.raw, block)] {
                #expect(throws: KeychainError.self) { try Self.perform(action, key, Giving("123456")) }
            }
            // Ciphertexts with another padding are refused. (One in some hundred OAEP blocks looks like PKCS #1.)
            let ciphertext = try publicKey.encrypt([1, 2, 3], using: .oaep(.sha1))
            let unpadded = try publicKey.encrypt([0, 1] + block.dropFirst(2), using: .raw)
            #expect(throws: KeychainError.self) {
                try Self.perform(.decrypt(.oaep(.sha256), ciphertext), key, Giving("123456"))
            }
            // From OpenSSL 3.2 on, wrong padding of PKCS #1 gives random bytes, which tell nobody that it was wrong.
            if try Program.run(["openssl", "version"]).text.contains(/^OpenSSL 3\.[01]\./) {
                #expect(throws: KeychainError.self) {
                    try Self.perform(.decrypt(.pkcs1, unpadded), key, Giving("123456"))
                }
            } else {
                let random = try Self.perform(.decrypt(.pkcs1, unpadded), key, Giving("123456"))
                #expect(random != [1] + block.dropFirst(2))
            }
            let plain = try Self.perform(.decrypt(.oaep(.sha1), ciphertext), key, Giving("123456"))
            #expect(plain == [1, 2, 3])
        }
    }

    @Test(arguments: [("EC:prime256v1", KeyKind.ecP256), ("EC:secp384r1", .ecP384), ("EC:secp521r1", .ecP521)])
    func anECKeySignsAndAgrees(name: String, kind: KeyKind) throws {
        try Self.with([Self.pair(name, "0a0b", "two", ["--usage-derive", "--usage-sign"])]) { _, keychain in
            let key = try Self.key(keychain, "0a0b")
            let publicKey = try PublicKey(spki: key.publicKey)
            #expect(publicKey.kind == kind)
            let giving = Giving("123456")
            let signature = try Self.perform(.sign(.ecdsa(nil), Self.digest), key, giving)
            #expect(try publicKey.verify(signature, digest: Self.digest, using: .ecdsa(.sha256)))
            let peer = try PrivateKey.generate(kind)
            let agreed = try Self.perform(.agree(peer.publicKey.rawRepresentation), key, giving)
            let wanted = try Self.bytes(peer.sharedSecret(with: publicKey))
            #expect(agreed == wanted)
        }
    }

    @Test func anEd25519KeySigns() throws {
        try Self.with([Self.pair("EC:edwards25519", "0c", "three")]) { _, keychain in
            let key = try Self.key(keychain, "0c")
            let message = Array("a message".utf8)
            let signature = try Self.perform(.sign(.ed25519, message), key, Giving("123456"))
            #expect(try PublicKey(spki: key.publicKey).verify(signature, message: message, using: .ed25519))
        }
    }

    /// The names of the keys, and what kind each is, after it has signed.
    private static func signing(_ keychain: ModuleKeychain) throws -> [String: KeyKind] {
        let items = try keychain.items(matching: Query(.key, limit: .all)).found
        let giving = Giving("123456")
        var kinds: [String: KeyKind] = [:]
        for key in try items.flatMap({ try keychain.keys(.reference($0.reference)) }) {
            let publicKey = try PublicKey(spki: key.publicKey)
            kinds[key.name] = publicKey.kind
            let isRSA = publicKey.kind == .rsa(bits: 2048)
            let signature = try perform(.sign(isRSA ? .rsaPKCS1(.sha256) : .ecdsa(nil), digest), key, giving)
            #expect(
                try publicKey.verify(signature, digest: digest, using: isRSA ? .rsaPKCS1(.sha256) : .ecdsa(.sha256)))
        }
        return kinds
    }

    @Test func keysOfOneIDSignEachForItself() throws {
        let pairs = [
            Self.pair("rsa:2048", "05", "one"), Self.pair("EC:prime256v1", "05", "two"),
            Self.pair("EC:secp384r1", "05", "three"), Self.pair("EC:prime256v1", "05", "four"),
        ]
        try Self.with(pairs) { files, keychain in
            let kinds = try Self.signing(keychain)
            #expect(kinds.keys.sorted() == ["05", "05/1", "05/2", "05/3"])
            #expect(kinds.values.filter { $0 == .ecP256 }.count == 2)
            #expect(Set(kinds.values) == [.rsa(bits: 2048), .ecP256, .ecP384])
            #expect(try Self.signing(ModuleKeychain(files.loaded())) == kinds)
        }
    }

    @Test func aKeyWithoutAnIDIsFoundByItsLabelAndSigns() throws {
        let pair = ["--keypairgen", "--key-type", "EC:prime256v1", "--label", "noid"]
        try Self.with([pair, Self.pair("EC:prime256v1", "01", "noid")]) { _, keychain in
            let items = try keychain.items(matching: Query(.key, [.label: "noid"], limit: .all)).found
            #expect(items.count == 2)
            #expect(try Self.signing(keychain) == ["/1": .ecP256, "01": .ecP256])
        }
    }

    @Test func aRefusedPINIsAskedForAgainAndNeverSentTwice() throws {
        try Self.with([Self.pair("EC:prime256v1", "01", "one")]) { _, keychain in
            let key = try Self.key(keychain, "01")
            let giving = Giving("000000", "000000", "123456")
            _ = try Self.perform(.sign(.ecdsa(nil), Self.digest), key, giving)
            #expect(giving.requests.count == 3)
            #expect(giving.requests.last?.failure?.contains("not sent again") == true)
        }
    }

    @Test func aPINThatNoTokenTakesIsNotSent() throws {
        try Self.with([Self.pair("EC:prime256v1", "01", "one")]) { _, keychain in
            let key = try Self.key(keychain, "01")
            let giving = Giving("1", "123456")
            _ = try Self.perform(.sign(.ecdsa(nil), Self.digest), key, giving)
            #expect(giving.requests.last?.failure?.contains("PINs of 4 to 255 bytes") == true)
        }
    }

    @Test func withoutAnybodyToAskNothingIsSent() throws {
        try Self.with([Self.pair("EC:prime256v1", "01", "one")]) { _, keychain in
            let key = try Self.key(keychain, "01")
            let action = TokenOperation.Action.sign(.ecdsa(nil), Self.digest)
            #expect(throws: KeychainError(.interactionNotAllowed, "")) { try Self.perform(action, key, NoPrompter()) }
        }
    }

    @Test func itsKeyPairsWithACertificateInAnotherKeychain() throws {
        try Self.with([Self.pair("EC:prime256v1", "01", "one")]) { files, keychain in
            let key = try Self.key(keychain, "01")
            let builder = try CertificateBuilder(
                commonName: "Somebody", publicKey: PublicKey(spki: key.publicKey), notBefore: 0, notAfter: 4_000_000_000
            )
            let certificate = try builder.selfSigned(by: PrivateKey.generate(.ecP256))
            // The token's key cannot sign the certificate here, so another key does.
            let local = try LocalKeychain.create(
                at: files.folder.path("local"), password: Secret(copying: Array("p".utf8).span), cost: .standard)
            try local.add(NewItem.certificate(certificate))
            let list = SearchList(members: [keychain, local])
            let identities = try list.identities(matching: Query(.identity, limit: .all)).found
            #expect(identities.count == 1)
            #expect(identities.first?.key.keychain.rawValue.hasPrefix("pkcs11:") == true)
            #expect(identities.first?.certificate.keychain.isLocal == true)
        }
    }

    @Test func aReferenceFindsItsItemInAnotherProcess() throws {
        try Self.with([Self.pair("EC:prime256v1", "01", "one"), Self.pair("EC:prime256v1", "02", "two")]) {
            files, keychain in
            let items = try keychain.items(matching: Query(.key, limit: .all)).found
            #expect(items.count == 2)
            let again = ModuleKeychain(files.loaded())
            for item in items {
                #expect(try again.items(matching: Query(item.reference)).found.map(\.reference) == [item.reference])
                #expect(try again.keys(.reference(item.reference)).map(\.publicKey) == [try #require(item.der)])
            }
        }
    }

    /// SoftHSM has one more slot, for the next token.
    @Test func anEmptySlotIsNoToken() throws {
        try Self.with([]) { _, keychain in
            let tokens = try keychain.tokens()
            #expect(tokens.count == 1)
        }
    }

    @Test func itsItemsAreOnlyRead() throws {
        try Self.with([Self.pair("EC:prime256v1", "01", "one")]) { _, keychain in
            #expect(keychain.isReadOnly)
            #expect(throws: KeychainError(.readOnly, "")) { try keychain.delete(matching: Query(.key, limit: .all)) }
        }
    }

    @Test func aQueryThatIsAboutOtherThingsStartsNoModule() throws {
        let module = PKCS11Module(
            ConfiguredModule(path: "/nothing/x.so"), worker: WorkerProgram(path: "/nothing", arguments: ["nothing"]))
        let keychain = ModuleKeychain(module)
        #expect(try keychain.items(matching: Query(.genericPassword, limit: .all)).found.isEmpty)
        let reference = PersistentReference(.key, .token(id: "piv:1", object: [0x39]))
        #expect(try keychain.items(matching: Query(reference)).found.isEmpty)
        #expect(try keychain.keys(.reference(reference)).isEmpty)
        #expect(!keychain.isIdentified(by: KeychainIdentifier(rawValue: "piv:1")))
    }
}

/// A module that only reads cards is asked only if there may be a card that nothing else reads.
@Suite struct ReaderModuleTests {
    private final class Asked: TokenModule {
        let name = "cards"
        let path: String? = nil
        let driver = "pkcs11"
        let readsCardsAlone: Bool
        private let count = Mutex(0)

        init(readsCardsAlone: Bool) { self.readsCardsAlone = readsCardsAlone }

        var questions: Int { count.withLock { $0 } }

        func tokens() throws(TokenError) -> [ModuleSlot] {
            count.withLock { $0 += 1 }
            return []
        }
    }

    @Test(arguments: [(true, true, 0), (true, false, 1), (false, true, 1), (false, false, 1)])
    func itIsAskedOrNot(readsCardsAlone: Bool, areAllReadOtherwise: Bool, questions: Int) throws {
        let module = Asked(readsCardsAlone: readsCardsAlone)
        let keychain = ModuleKeychain(module, areAllReadOtherwise: { areAllReadOtherwise })
        #expect(try keychain.items(matching: Query(.certificate, limit: .all)).found.isEmpty)
        #expect(module.questions == questions)
    }

    /// A reader whose card another program holds, however long it is waited for.
    private final class HeldReader: CardReader {
        let name = "held"
        let occupancy = ReaderOccupancy(hasCard: true)
        private let count = Mutex(0)

        var waits: Int { count.withLock { $0 } }

        func connect(trace: (any CardTrace)?, _ wait: CardWait) throws(CardError) -> any CardConnection {
            count.withLock { $0 += 1 }
            throw CardError(.inUse, "another program holds the card")
        }
    }

    private struct Driver: TokenDriver {
        let name = "none"

        func recognize(_ card: inout CardTransaction, atr: ATR) throws(TokenError) -> (any Token)? { nil }
    }

    /// The module would wait for the same program, and the wait would be reported as its fault.
    @Test func itIsNotAskedForACardThatAnotherProgramHolds() throws {
        let folder = try TemporaryFolder()
        let module = Asked(readsCardsAlone: true)
        let reader = HeldReader()
        let process = ProcessKeychains(
            KeychainPreferences(directories: Directories(shared: folder.path) { _ in folder.path }),
            drivers: { _ in [Driver()] }, modules: { [module] }, readers: { [reader] })
        let list = try process.present().searchList
        for searches in 1...2 {
            let failures = try list.items(matching: Query(.certificate, limit: .all)).missing
            #expect(failures.map(\.keychain) == ["held"])
            #expect(failures.first?.error.code == .notAvailable)
            #expect(module.questions == 0)
            #expect(reader.waits == searches)
        }
    }

    @Test(arguments: [
        ("/usr/lib/x86_64-linux-gnu/opensc-pkcs11.so", true), ("/a/onepin-opensc-pkcs11.so", true),
        ("/a/libykcs11.so.2", true), ("/a/libsofthsm2.so", false), ("/a/opensc-pkcs11.so/x.so", false),
    ])
    func modulesOfCardsAreKnownByTheirFiles(path: String, readsCardsAlone: Bool) {
        let module = PKCS11Module(
            ConfiguredModule(path: path), worker: WorkerProgram(path: "/nothing", arguments: ["nothing"]))
        #expect(module.readsCardsAlone == readsCardsAlone)
    }
}
