import Foundation
import SecItem
import TestSupport
import Testing

/// Tokens of other PKCS#11 modules, for a program that uses only SecItem.
@Suite struct SecItemModuleTests {
    /// A token with a key and its certificate, and a home without a card.
    private static func prepare(_ modules: String = SoftHSM.path) throws -> (
        home: Home, certificate: Data, end: () -> Void
    ) {
        let folder = try TemporaryFolder()
        let made = """
            cd '\(folder.path)' && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 \\
                -subj '/CN=On a token' -addext basicConstraints=CA:FALSE -keyout key.pem -outform DER -out certificate &&
                openssl ec -in key.pem -outform DER -out key
            """
        try #require(Program.run(["sh", "-c", made]).status == 0)
        let token = try SoftHSM(
            [("certificate", "cert"), ("key", "privkey")].map { file, type in
                ["--write-object", folder.path(file), "--type", type, "--id", "01", "--label", "On a token"]
            })
        setenv("SOFTHSM2_CONF", String(token.environment[0].dropFirst("SOFTHSM2_CONF=".count)), 1)
        let certificate = try Data(contentsOf: URL(filePath: folder.path("certificate")))
        let home = try Home(modules: modules)
        return (home, certificate, { withExtendedLifetime((token, folder)) { home.end() } })
    }

    /// The number of processes in which the host runs modules.
    private static var workers: Int {
        let settings = ProcessInfo.processInfo.environment["SOFTHSM2_CONF"] ?? ""
        func text(_ path: String) -> String {
            String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
        }
        return ((try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []).count { process in
            text("/proc/\(process)/cmdline").contains("--serve-module=")
                && text("/proc/\(process)/environ").contains("SOFTHSM2_CONF=\(settings)\0")
        }
    }

    @Test func whatAModuleHasIsFoundAndItsKeySigns() async {
        await #expect(processExitsWith: .success) {
            let (_, _, end) = try Self.prepare()
            defer { end() }
            let certificates =
                try find([
                    kSecClass: kSecClassCertificate, kSecMatchLimit: kSecMatchLimitAll, kSecReturnAttributes: true,
                ]) as? [[String: Any]]
            #expect(certificates?.map { $0[kSecAttrLabel] as? String } == ["On a token"])
            let name = certificates?.first?[kSecAttrTokenID] as? String
            #expect(name?.contains("token=soft") == true)

            let context = LAContext()
            context.setCredential(Data("123456".utf8), type: .smartCardPIN)
            let hash = try #require(certificates?.first?[kSecAttrPublicKeyHash] as? Data)
            let key = try #require(
                try find([
                    kSecClass: kSecClassKey, kSecAttrKeyClass: kSecAttrKeyClassPrivate,
                    kSecAttrApplicationLabel: hash, kSecUseAuthenticationContext: context, kSecReturnRef: true,
                ]) as? SecKey)
            let message = Data("signed by a module".utf8)
            var error: Unmanaged<CFError>?
            let signature = SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA256, message, &error)
            #expect(error == nil, "\(error?.takeRetainedValue().localizedDescription ?? "")")
            #expect(
                SecKeyVerifySignature(
                    try #require(SecKeyCopyPublicKey(key)), .ecdsaSignatureMessageX962SHA256, message,
                    try #require(signature), nil))
        }
    }

    /// A service may start without standard streams, so that the next files get their descriptors.
    @Test(arguments: [[0, 2], [0, 1, 2]] as [[Int32]])
    func aProgramWithoutStandardStreamsFindsWhatAModuleHas(closed: [Int32]) async {
        await #expect(processExitsWith: .success) { [closed] in
            let (_, _, end) = try Self.prepare()
            defer { end() }
            for stream in closed { close(stream) }
            let query: [String: Any] = [kSecClass: kSecClassCertificate, kSecReturnAttributes: true]
            let found = try find(query) as? [String: Any]
            guard found?[kSecAttrLabel] as? String == "On a token" else { exit(1) }
        }
    }

    @Test func noPasswordIsLookedForInAModule() async {
        await #expect(processExitsWith: .success) {
            let (_, _, end) = try Self.prepare()
            defer { end() }
            #expect(add([kSecClass: kSecClassGenericPassword, kSecAttrService: "s", kSecValueData: Data([1])]) == 0)
            #expect(status(of: [kSecClass: kSecClassGenericPassword, kSecAttrService: "t"]) == errSecItemNotFound)
            #expect(Self.workers == 0)
            #expect(status(of: [kSecClass: kSecClassCertificate]) == errSecSuccess)
            #expect(Self.workers == 1)
        }
    }

    @Test(arguments: ["no-such-module", "/nonexistent/module.so"])
    func aModuleThatCannotBeUsedHidesNothing(module: String) async {
        await #expect(processExitsWith: .success) { [module] in
            let (_, certificate, end) = try Self.prepare(module)
            defer { end() }
            #expect(status(of: [kSecClass: kSecClassCertificate]) == errSecItemNotFound)
            #expect(add([kSecClass: kSecClassCertificate, kSecValueData: certificate]) == errSecSuccess)
            #expect(status(of: [kSecClass: kSecClassCertificate]) == errSecSuccess)
        }
    }
}
