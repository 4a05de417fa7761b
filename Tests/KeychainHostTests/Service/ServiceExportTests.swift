import HostAPI
import SecureBytes
import SystemCrypto
import TestSupport
import Testing

@testable import KeychainHost
@testable import KeychainModel

/// Files that are written through `KeychainService`. What was written is read again.
@Suite struct ServiceExportTests {
    private let key: PrivateKey
    private let certificate: Certificate
    private let context = RequestContext()

    init() throws {
        key = try PrivateKey.generate(.ecP256)
        certificate = try CertificateBuilder(
            commonName: "Jo", publicKey: key.publicKey, notBefore: 1_600_000_000, notAfter: 4_000_000_000
        ).selfSigned(by: key)
    }

    private func item(_ stage: ServiceStage, _ attributes: Attributes = [:]) throws -> ExportRequest.Object {
        .privateKey(.item(try stage.service.add(.privateKey(key, attributes), to: stage.work.identifier).reference))
    }

    private func given() throws -> ExportRequest.Object { .privateKey(.given(GivenKey(try .privateKey(key)))) }

    private func request(
        _ objects: [ExportRequest.Object], _ format: ExportRequest.Format, _ passphrase: String? = "secret"
    ) -> ExportRequest {
        var request = ExportRequest(objects, as: format)
        if let passphrase { request.passphrase = .given(SharedSecret(.of(passphrase))) }
        return request
    }

    @Test(arguments: ServiceRoute.allCases) func aKeyOfAKeychainAndAGivenOneAreWritten(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        for key in [try item(stage), try given()] {
            for format in [.pkcs12, .pemSequence, .pkcs8] as [ExportRequest.Format] {
                try expectAFile(of: key, in: format, from: stage)
            }
        }
    }

    /// Once, since bcrypt takes most of a minute in a build without optimisation.
    @Test func aKeyIsWrittenForOpenSSH() throws {
        let stage = try ServiceStage(.socket)
        try expectAFile(of: item(stage), in: .openssh, from: stage)
    }

    /// Expects a file with an encrypted key, and with the certificate where the format has room for it.
    private func expectAFile(
        of key: ExportRequest.Object, in format: ExportRequest.Format, from stage: ServiceStage
    ) throws {
        let objects = format == .pkcs12 ? [.certificate(certificate, name: "Jo's"), key] : [key]
        let file = try stage.service.exportFile(request(objects, format), context)
        var reading = ImportRequest(file, named: "file")
        #expect(throws: KeychainError(.passphraseRequired), "\(format)") {
            try stage.service.importFile(reading, context)
        }
        reading.passphrase = .given(SharedSecret(.of("secret")))
        let content = try stage.service.importFile(reading, context).content
        guard case .objects(let certificates, _, let keys) = content else {
            Issue.record("\(format)")
            return
        }
        #expect(certificates == (format == .pkcs12 ? [certificate] : []))
        #expect(try keys.map { try PrivateKey(encoded: $0.secret).publicKey } == [self.key.publicKey])
    }

    @Test(arguments: ServiceRoute.allCases) func aProtectedKeyStaysWhereItIs(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let kept = try item(stage, [.isExtractable: false])
        #expect(throws: KeychainError(.dataNotAvailable)) {
            try stage.service.exportFile(request([kept], .pkcs8), context)
        }
        let onCard = ExportRequest.Object.privateKey(.item(try stage.identity().key.reference))
        #expect(throws: KeychainError(.dataNotAvailable)) {
            try stage.service.exportFile(request([onCard], .pkcs8), context)
        }
        #expect(stage.person.requests.isEmpty)
    }

    @Test(arguments: ServiceRoute.allCases) func noPassphraseIsChosenForAKeyThatStays(route: ServiceRoute) throws {
        let stage = try ServiceStage(route, person: TypesInTurn("secret"))
        let onCard = ExportRequest.Object.privateKey(.item(try stage.identity().key.reference))
        for format in [.pkcs12, .pemSequence, .pkcs8, .openssh] as [ExportRequest.Format] {
            var request = ExportRequest([onCard], as: format)
            request.passphrase = .asked
            #expect(throws: KeychainError(.dataNotAvailable)) { try stage.service.exportFile(request, context) }
        }
        #expect(stage.person.requests.isEmpty)
    }

    /// The keychain's password is asked for before the passphrase, which nobody chooses in vain then.
    @Test(arguments: ServiceRoute.allCases) func theKeychainOpensBeforeAPassphraseIsChosen(route: ServiceRoute) throws {
        let stage = try ServiceStage(route, person: TypesInTurn("p", "secret"))
        let key = try item(stage)
        stage.work.lock()
        var request = ExportRequest([key], as: .pemSequence)
        request.passphrase = .asked
        #expect(try stage.service.exportFile(request, context).secret.count > 100)
        #expect(stage.person.requests.map(\.purpose) == [.password, .newPassword])
    }

    @Test(arguments: ServiceRoute.allCases) func aKeyGoesWithEachOfItsCertificates(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let other = try CertificateBuilder(
            commonName: "Al", publicKey: key.publicKey, notBefore: 1_600_000_000, notAfter: 4_000_000_000
        ).selfSigned(by: key)
        let key = try given()
        let objects: [ExportRequest.Object] = [
            .certificate(certificate, name: "first"), key, .certificate(other, name: "second"), key,
        ]
        let file = try stage.service.exportFile(request(objects, .pkcs12), context)
        let bag = try PKCS12.parse(file.secret.copied(), password: .of("secret"))
        #expect(bag.certificates == [certificate, other] && bag.keys.count == 1)
        #expect(bag.friendlyNames[self.key.publicKey.keyHash] == "first")
    }

    @Test(arguments: ServiceRoute.allCases) func aSensitiveKeyLeavesOnlyEncrypted(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let key = try item(stage, [.isSensitive: true])
        for format in [.openssl, .pemSequence] as [ExportRequest.Format] {
            #expect(throws: KeychainError(.keyIsSensitive)) {
                try stage.service.exportFile(request([key], format, nil), context)
            }
        }
        #expect(try stage.service.exportFile(request([key], .pkcs8), context).secret.count > 100)
    }

    @Test(arguments: ServiceRoute.allCases) func oneQuestionIsForAllKeys(route: ServiceRoute) throws {
        let stage = try ServiceStage(route, person: TypesInTurn("secret"))
        var request = self.request([try given(), try given()], .pkcs8, nil)
        request.isArmored = true
        #expect(throws: KeychainError(.passphraseRequired)) { try stage.service.exportFile(request, context) }
        (request.passphrase, request.subject) = (.asked, "two keys")
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try stage.service.exportFile(request, RequestContext(questions: .never))
        }
        #expect(try stage.service.exportFile(request, context).secret.count > 100)
        #expect(stage.person.requests.map(\.subject) == ["two keys"])
        #expect(throws: KeychainError(.param)) { try stage.service.exportFile(self.request([], .pemSequence), context) }
        let publicKey = ExportRequest.Object.publicKey(key.publicKey)
        #expect(throws: KeychainError(.param)) {
            try stage.service.exportFile(self.request([publicKey], .x509), context)
        }
    }
}
