import Foundation
import SecItem
import TestSupport
import Testing

/// Tokens of other PKCS#11 modules, for a program that uses only SecItem.
@Suite struct SecItemModuleTests {
    /// A token with a key and its certificate, a home without a card, and `tokenctl` in `PATH`.
    private static func prepare(_ modules: String = SoftHSM.path) throws -> (home: Home, end: () -> Void) {
        let home = try Home(modules: modules)
        let made = """
            cd '\(home.path(""))' && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 \\
                -subj '/CN=On a token' -addext basicConstraints=CA:FALSE -keyout key.pem -outform DER -out certificate &&
                openssl ec -in key.pem -outform DER -out key
            """
        try #require(Program.run(["sh", "-c", made]).status == 0)
        let token = try SoftHSM(
            [("certificate", "cert"), ("key", "privkey")].map { file, type in
                ["--write-object", home.path(file), "--type", type, "--id", "01", "--label", "On a token"]
            })
        setenv("SOFTHSM2_CONF", String(token.environment[0].dropFirst("SOFTHSM2_CONF=".count)), 1)
        return (home, { withExtendedLifetime(token) { home.end() } })
    }

    private static func findTokenctl() {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        setenv("PATH", "\(Program.path):\(path)", 1)
    }

    @Test func whatAModuleHasIsFoundAndItsKeySigns() async {
        await #expect(processExitsWith: .success) {
            let (_, end) = try Self.prepare()
            defer { end() }
            Self.findTokenctl()
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
            let (_, end) = try Self.prepare()
            defer { end() }
            Self.findTokenctl()
            for stream in closed { close(stream) }
            let query: [String: Any] = [kSecClass: kSecClassCertificate, kSecReturnAttributes: true]
            let found = try find(query) as? [String: Any]
            guard found?[kSecAttrLabel] as? String == "On a token" else { exit(1) }
        }
    }

    @Test func noPasswordIsLookedForInAModule() async {
        await #expect(processExitsWith: .success) {
            let (_, end) = try Self.prepare()
            defer { end() }
            // The worker program cannot be found, so that a start of it would be an error.
            setenv("PATH", "/nowhere", 1)
            #expect(add([kSecClass: kSecClassGenericPassword, kSecAttrService: "s", kSecValueData: Data([1])]) == 0)
            #expect(status(of: [kSecClass: kSecClassGenericPassword, kSecAttrService: "t"]) == errSecItemNotFound)
        }
    }

    @Test func withoutTheProgramThatModulesRunInTheRestIsFound() async {
        await #expect(processExitsWith: .success) {
            let (home, end) = try Self.prepare()
            defer { end() }
            setenv("PATH", "/nowhere", 1)
            #expect(status(of: [kSecClass: kSecClassCertificate]) == errSecItemNotFound)
            let der = try Data(contentsOf: URL(filePath: home.path("certificate")))
            #expect(add([kSecClass: kSecClassCertificate, kSecValueData: der]) == errSecSuccess)
            #expect(status(of: [kSecClass: kSecClassCertificate]) == errSecSuccess)
        }
    }

    @Test func aModuleThatNobodyKnowsHidesNothing() async {
        await #expect(processExitsWith: .success) {
            let (home, end) = try Self.prepare("no-such-module")
            defer { end() }
            Self.findTokenctl()
            let der = try Data(contentsOf: URL(filePath: home.path("certificate")))
            #expect(add([kSecClass: kSecClassCertificate, kSecValueData: der]) == errSecSuccess)
            #expect(status(of: [kSecClass: kSecClassCertificate]) == errSecSuccess)
        }
    }
}
