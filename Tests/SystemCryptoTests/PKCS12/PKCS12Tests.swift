import SystemCrypto
import Testing

@Suite struct PKCS12Tests {
    @Test(arguments: TestKeys.signingKinds)
    func filesComeBack(kind: KeyKind) throws {
        let key = try TestKeys.key(kind)
        let certificate = try TestKeys.certificate(kind)
        let other = try TestKeys.certificate(.ecP384, commonName: "Above")
        let file = try PKCS12.create(
            [.init(key, certificate, friendlyName: "Jö")], chain: [other], password: secret("pässword"),
            iterations: 1000)
        let read = try PKCS12.parse(file, password: secret("pässword"))
        #expect(read.keys.map(\.publicKey) == [key.publicKey])
        #expect(Set(read.certificates) == [certificate, other])
        #expect(read.friendlyNames == [key.publicKey.keyHash: "Jö"])
    }

    @Test func opensslReadsWhatIsWritten() throws {
        let openssl = try OpenSSLCommand()
        let certificate = try TestKeys.certificate(.ecP256)
        let file = try PKCS12.create(
            [.init(TestKeys.key(.ecP256), certificate, friendlyName: "mine")], password: secret("hunter2"),
            iterations: 1000)
        try openssl.write(file, to: "file.p12")
        let text = try openssl.succeed(
            "pkcs12", "-in", "file.p12", "-passin", "pass:hunter2", "-nodes", "-info", "-nomac")
        #expect(text.contains("PBES2, PBKDF2, AES-256-CBC, Iteration 1000, PRF hmacWithSHA256"))
        #expect(text.contains(certificate.pem) && text.contains("friendlyName: mine"))
    }

    @Test func severalIdentitiesComeBackEachWithItsName() throws {
        let identities = try TestKeys.signingKinds.map { kind in
            try PKCS12.Identity(TestKeys.key(kind), TestKeys.certificate(kind), friendlyName: "\(kind)")
        }
        let again = try PKCS12.Identity(
            TestKeys.key(.ecP256), TestKeys.certificate(.ecP256, commonName: "Again"), friendlyName: "again")
        let file = try PKCS12.create(
            identities + [again, again], chain: identities.map(\.certificate), password: secret("hunter2"),
            iterations: 1000)
        let read = try PKCS12.parse(file, password: secret("hunter2"))
        #expect(read.keys.map(\.publicKey) == identities.map(\.key.publicKey))
        #expect(read.certificates == identities.map(\.certificate) + [again.certificate])
        for identity in identities {
            #expect(read.friendlyNames[identity.certificate.keyHash] == identity.friendlyName)
        }
        let openssl = try OpenSSLCommand()
        try openssl.write(file, to: "file.p12")
        let text = try openssl.succeed("pkcs12", "-in", "file.p12", "-passin", "pass:hunter2", "-nodes", "-info")
        #expect(text.contains("MAC: sha256, Iteration 1000"))
        #expect(text.split(separator: "BEGIN PRIVATE KEY").count == 1 + identities.count)
        #expect(text.split(separator: "BEGIN CERTIFICATE").count == 2 + identities.count)
        for identity in identities { #expect(text.contains(identity.certificate.pem)) }
    }

    /// Files as programs of the last thirty years wrote them.
    @Test(
        arguments: [
            ["-legacy"], ["-legacy", "-nomac"], ["-legacy", "-descert"], ["-keypbe", "NONE", "-certpbe", "NONE"],
            ["-keypbe", "AES-128-CBC", "-certpbe", "NONE", "-macalg", "sha512"],
            ["-legacy", "-keypbe", "PBE-SHA1-RC4-128", "-certpbe", "PBE-SHA1-RC2-128"],
        ], ["", "hunter2"])
    func filesOfOtherProgramsAreRead(options: [String], password: String) throws {
        let openssl = try OpenSSLCommand()
        let key = try TestKeys.rsa()
        let certificate = try TestKeys.certificate(.rsa(bits: 2048))
        try openssl.write(reveal(PEM.encode(try key.pkcs8(), label: "PRIVATE KEY")), to: "key.pem")
        try openssl.write(utf8(certificate.pem), to: "certificate.pem")
        try openssl.succeed(
            [
                "pkcs12", "-export", "-inkey", "key.pem", "-in", "certificate.pem", "-out", "file.p12", "-name", "old",
                "-passout", "pass:\(password)",
            ] + options)
        let file = try openssl.read("file.p12")
        let read =
            password.isEmpty ? try PKCS12.parse(file) : try PKCS12.parse(file, password: secret(password))
        #expect(read.keys.map(\.publicKey) == [key.publicKey])
        #expect(read.certificates == [certificate])
        #expect(read.friendlyNames == [key.publicKey.keyHash: "old"])
        if password.isEmpty {
            #expect(try PKCS12.parse(file, password: secret("")).keys.count == 1)
        }
    }

    @Test func certificatesAloneAreRead() throws {
        let openssl = try OpenSSLCommand()
        let certificates = [try TestKeys.certificate(.ecP256), try TestKeys.certificate(.ecP384)]
        try openssl.write(utf8(certificates.map(\.pem).joined()), to: "all.pem")
        try openssl.succeed("pkcs12", "-export", "-nokeys", "-in", "all.pem", "-out", "file.p12", "-passout", "pass:x")
        let read = try PKCS12.parse(openssl.read("file.p12"), password: secret("x"))
        #expect(read.keys.isEmpty && Set(read.certificates) == Set(certificates))
    }

    private func file() throws -> [UInt8] {
        try PKCS12.create(
            [.init(TestKeys.key(.ecP256), TestKeys.certificate(.ecP256))], password: secret("right"), iterations: 10)
    }

    @Test func wrongAndMissingPasswordsAreToldApart() throws {
        let file = try file()
        let wrong = errorCode { () throws(CryptoError) in _ = try PKCS12.parse(file, password: secret("wrong")) }
        #expect(wrong == .wrongPassword)
        #expect(throws: CryptoError(.passwordRequired, "")) { try PKCS12.parse(file) }
        let empty = errorCode { () throws(CryptoError) in _ = try PKCS12.parse(file, password: secret("")) }
        #expect(empty == .passwordRequired)
    }

    @Test func cutAndChangedFilesAreErrorsNotTraps() throws {
        let file = try file()
        for length in 0..<file.count {
            #expect(throws: CryptoError.self) {
                try PKCS12.parse(Array(file.prefix(length)), password: secret("right"))
            }
        }
        #expect(throws: CryptoError(.malformed, "")) { try PKCS12.parse(file + [0], password: secret("right")) }
        for index in file.indices where index % 3 == 0 {
            _ = try? PKCS12.parse(flipping(file, at: index), password: secret("right"))
        }
    }

    @Test func keyAndCertificateBelongTogether() throws {
        let certificate = try TestKeys.certificate(.ecP256)
        #expect(throws: CryptoError(.invalidKey, "")) {
            try PKCS12.Identity(TestKeys.rsa(), certificate)
        }
    }

    @Test func passwordsEndWithNoZero() throws {
        let identity = try PKCS12.Identity(TestKeys.key(.ecP256), TestKeys.certificate(.ecP256))
        let code = errorCode { () throws(CryptoError) in
            _ = try PKCS12.create([identity], password: secret([0x61, 0x00, 0x62]))
        }
        #expect(code == .malformed)
    }
}
