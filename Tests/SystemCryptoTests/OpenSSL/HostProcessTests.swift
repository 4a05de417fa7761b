import Glibc
import SecureBytes
import SystemCrypto
import Testing

/// The library is a guest in processes that use OpenSSL themselves.
@Suite struct HostProcessTests {
    /// libcrypto as the host process sees it.
    private enum Host {
        static func function<Function>(_ name: String, as type: Function.Type) throws -> Function {
            unsafeBitCast(try #require(dlsym(nil, name)), to: type)
        }

        /// Leaves an error in this thread's queue, as a careless host does.
        static func fail() throws {
            let open = try function(
                "BIO_new_file",
                as: (@convention(c) (UnsafePointer<CChar>, UnsafePointer<CChar>) -> OpaquePointer?).self)
            #expect(open("/nonexistent", "r") == nil)
        }

        static func lastError() throws -> UInt {
            try function("ERR_peek_last_error", as: (@convention(c) () -> UInt).self)()
        }

        static func clearErrors() throws {
            try function("ERR_clear_error", as: (@convention(c) () -> Void).self)()
        }

        /// Removes every algorithm from the default context, so that code which uses it fails.
        static func emptyDefaultContext() throws {
            let load = try function(
                "OSSL_PROVIDER_load",
                as: (@convention(c) (OpaquePointer?, UnsafePointer<CChar>) -> OpaquePointer?).self)
            #expect(load(nil, "null") != nil)
            let isAvailable = try function(
                "OSSL_PROVIDER_available",
                as: (@convention(c) (OpaquePointer?, UnsafePointer<CChar>) -> Int32).self)
            #expect(isAvailable(nil, "default") == 0)
        }
    }

    @Test func errorsOfTheHostStayAndOursDoNot() throws {
        try Host.clearErrors()
        _ = try? PublicKey(spki: [1, 2, 3])
        #expect(try Host.lastError() == 0)
        try Host.fail()
        let error = try Host.lastError()
        #expect(error != 0)
        _ = try? PublicKey(spki: [1, 2, 3])
        _ = try Digest.hash([], using: .sha256)
        #expect(try Host.lastError() == error)
        try Host.clearErrors()
    }

    @Test func errorsOfTheHostAreNotTakenForOurs() throws {
        try Host.fail()
        defer { try? Host.clearErrors() }
        let reason: String?
        do {
            _ = try PublicKey(spki: [1, 2, 3])
            reason = nil
        } catch {
            reason = error.reason
        }
        #expect(reason?.contains("No such file") != true)
    }

    // Each test has its own process, in which nothing has used the default context before.

    @Test func keysNeedNothingOfTheDefaultContext() async {
        await #expect(processExitsWith: .success) {
            try Host.emptyDefaultContext()
            for kind in TestKeys.kinds { try DefaultContextExercise.keys(kind) }
        }
    }

    @Test func certificatesNeedNothingOfTheDefaultContext() async {
        await #expect(processExitsWith: .success) {
            try Host.emptyDefaultContext()
            try DefaultContextExercise.certificates()
        }
    }

    @Test func pkcs12NeedsNothingOfTheDefaultContext() async {
        await #expect(processExitsWith: .success) {
            try Host.emptyDefaultContext()
            try DefaultContextExercise.pkcs12([])
            try DefaultContextExercise.pkcs12(["-legacy"])
        }
    }

    @Test func symmetricAlgorithmsNeedNothingOfTheDefaultContext() async {
        await #expect(processExitsWith: .success) {
            try Host.emptyDefaultContext()
            try DefaultContextExercise.symmetricAlgorithms()
        }
    }
}

/// The work of those processes. A failure throws.
private enum DefaultContextExercise {
    static func keys(_ kind: KeyKind) throws {
        let key = try TestKeys.key(kind)
        let encrypted = try key.encryptedPKCS8(password: secret("x"), iterations: 10)
        let read = try PrivateKey(encoded: secret(encrypted), password: secret("x"))
        try #require(try PublicKey(spki: read.publicKey.spki).keyHash == key.publicKey.keyHash)
        if case .rsa = kind {
            try #require(try PrivateKey(key.rsaPrimes()).publicKey == key.publicKey)
            let ciphertext = try key.publicKey.encrypt([1, 2], using: .oaep(.sha256))
            try #require(try reveal(read.decrypt(ciphertext, using: .oaep(.sha256))) == [1, 2])
        } else if kind.isEC {
            try #require(try PrivateKey(ecScalar: key.scalar(), curve: kind).publicKey == key.publicKey)
        }
        if kind.isEC || kind == .x25519 { try #require(try read.sharedSecret(with: key.publicKey).count > 0) }
        guard kind != .x25519 else { return }
        let algorithm = TestKeys.algorithm(kind)
        let signature = try read.sign(message: utf8("m"), using: algorithm)
        try #require(try key.publicKey.verify(signature, message: utf8("m"), using: algorithm))
    }

    static func certificates() throws {
        let certificate = try TestKeys.certificate(.ecP384)
        try #require(try Certificate(der: certificate.der).publicKey != nil)
        try #require(try certificate.verify(issuedBy: certificate))
        let outcome = try CertificateChain.verify(
            certificate, intermediates: [], roots: [certificate], at: certificate.notBefore)
        try #require(outcome == .trusted([certificate]))
    }

    static func pkcs12(_ options: [String]) throws {
        let openssl = try OpenSSLCommand()
        let (key, certificate) = (try TestKeys.key(.ecP384), try TestKeys.certificate(.ecP384))
        try openssl.write(reveal(PEM.encode(try key.pkcs8(), label: "PRIVATE KEY")), to: "key.pem")
        try openssl.write(utf8(certificate.pem), to: "certificate.pem")
        try openssl.succeed(
            [
                "pkcs12", "-export", "-inkey", "key.pem", "-in", "certificate.pem", "-out", "file.p12", "-passout",
                "pass:x",
            ] + options)
        let read = try PKCS12.parse(openssl.read("file.p12"), password: secret("x"))
        try #require(read.keys.first?.publicKey == key.publicKey && read.certificates == [certificate])
        let written = try PKCS12.create(
            [.init(key, certificate)], chain: [certificate], password: secret("y"), iterations: 10)
        try #require(try PKCS12.parse(written, password: secret("y")).keys.count == 1)
    }

    static func symmetricAlgorithms() throws {
        let key = try RandomBytes.makeSecret(count: 32)
        let nonce = [UInt8](repeating: 0, count: 12)
        let sealed = try AESGCM.seal(nonce.span, key: key, nonce: nonce)
        try #require(try reveal(AESGCM.open(sealed, key: key, nonce: nonce)) == nonce)
        try #require(try BlockCipher.tripleDES.encrypt([], key: secret([UInt8](repeating: 1, count: 24))) == [])
        try #require(try AESKeyWrap.wrap(key, under: key).count == 40)
        try #require(try HKDF.deriveKey(from: key, info: [], count: 16).count == 16)
        try #require(try Scrypt.deriveKey(password: key, salt: [], n: 16, r: 1, p: 1, count: 16).count == 16)
    }
}

@Suite struct CryptoErrorTests {
    @Test func equalityIsOfTheCode() {
        #expect(CryptoError(.malformed, "one") == CryptoError(.malformed, "two", reason: "because"))
        #expect(CryptoError(.malformed, "one") != CryptoError(.unsupported, "one"))
    }

    @Test func descriptionsNameOperationCodeAndReason() {
        #expect(CryptoError(.malformed, "key").description == "key: it is malformed")
        #expect(CryptoError(.library, "key", reason: "bad thing").description == "key: OpenSSL refused it (bad thing)")
    }

    @Test func opensslsWordsComeAlong() {
        let error = #expect(throws: CryptoError.self) { try Certificate(der: hex("30060201000201FF")) }
        #expect(error?.code == .malformed && error?.reason != nil)
    }
}
