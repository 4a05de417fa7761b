import HostAPI
import SecureBytes
import SystemCrypto
import TestSupport
import Testing

@testable import KeychainHost
@testable import KeychainModel

/// Files that are read through `KeychainService`.
@Suite struct ServiceImportTests {
    private let key: PrivateKey
    private let certificate: Certificate
    private let context = RequestContext()

    init() throws {
        key = try PrivateKey.generate(.ecP256)
        certificate = try CertificateBuilder(
            commonName: "Jo", publicKey: key.publicKey, notBefore: 1_600_000_000, notAfter: 4_000_000_000
        ).selfSigned(by: key)
    }

    private func request(
        _ change: (inout ImportRequest) -> Void = { _ in }
    ) throws -> ImportRequest {
        let file = try PKCS12.create(
            [PKCS12.Identity(key, certificate, friendlyName: "Jo's")], password: .of("secret"))
        var request = ImportRequest(SharedSecret(Secret(copying: file.span)), named: "jo.p12")
        request.passphrase = .given(SharedSecret(.of("secret")))
        change(&request)
        return request
    }

    private func items(_ content: ImportedContent) -> [ImportedItem] {
        guard case .items(let items) = content.content else { return [] }
        return items
    }

    @Test(arguments: ServiceRoute.allCases) func aFileIsReadAsItIs(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let content = try stage.service.importFile(request(), context)
        #expect(content.format == .pkcs12 && content.others.isEmpty)
        guard case .objects(let certificates, let publicKeys, let privateKeys) = content.content else {
            Issue.record("\(content.format)")
            return
        }
        #expect(certificates == [certificate] && publicKeys.isEmpty)
        #expect(try privateKeys.map { try PrivateKey(encoded: $0.secret).publicKey } == [key.publicKey])
        #expect(
            try stage.service.items(matching: Query(.certificate, limit: .all), context).found.filter { !$0.isOnToken }
                .isEmpty)
    }

    @Test(arguments: ServiceRoute.allCases) func theKeychainHasItOnce(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let request = try self.request {
            $0.target = ImportRequest.Target(stage.work.identifier)
            $0.target?.privateKeys = [.isExtractable: false]
        }
        let first = try items(stage.service.importFile(request, context))
        #expect(first.map(\.item.label) == ["Jo", "Jo's"] && first.allSatisfy(\.isNew))
        #expect(first.allSatisfy { $0.item.keychain == stage.work.identifier })
        #expect(first.last?.item[.isExtractable]?.isTrue == false)
        let second = try items(stage.service.importFile(request, context))
        #expect(second.map(\.item.reference) == first.map(\.item.reference) && !second.contains(where: \.isNew))
    }

    @Test(arguments: ServiceRoute.allCases) func aFileIsAddedAsAWholeOrNotAtAll(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        try stage.service.add(.privateKey(key, [.isExtractable: false]), to: stage.work.identifier)
        var request = try self.request {
            $0.target = ImportRequest.Target(stage.work.identifier)
            $0.target?.privateKeys = [.isExtractable: true]
            $0.target?.requiresProtection = true
        }
        #expect(throws: KeychainError(.duplicateItem)) { try stage.service.importFile(request, context) }
        let found = try stage.service.items(
            matching: Query(.certificate, in: [stage.work.identifier], limit: .all), context)
        #expect(found.found.isEmpty)
        request.target?.requiresProtection = false
        #expect(try items(stage.service.importFile(request, context)).map(\.isNew) == [true, false])
    }

    @Test(arguments: ServiceRoute.allCases) func whatAFileHasTwiceIsAddedOnce(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let other = try CertificateBuilder(
            commonName: "Al", publicKey: key.publicKey, notBefore: 1_600_000_000, notAfter: 4_000_000_000
        ).selfSigned(by: key)
        var request = ImportRequest(
            SharedSecret(.of([certificate, other, certificate].map(\.pem).joined())), named: "three.pem")
        request.target = ImportRequest.Target(stage.work.identifier)
        let items = try items(stage.service.importFile(request, context))
        #expect(items.map(\.item.label) == ["Jo", "Al", "Jo"] && items.map(\.isNew) == [true, true, false])
        #expect(items.first?.item == items.last?.item)
        let found = try stage.service.items(
            matching: Query(.certificate, in: [stage.work.identifier], limit: .all), context)
        #expect(found.found.count == 2)
    }

    @Test(arguments: ServiceRoute.allCases) func anItemThatIsRefusedKeepsOutTheOthers(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let request = try self.request {
            $0.target = ImportRequest.Target(stage.work.identifier)
            $0.target?.keys = [.applicationLabel: .data([1])]
        }
        #expect(throws: KeychainError(.param)) { try stage.service.importFile(request, context) }
        let found = try stage.service.items(
            matching: Query(.certificate, in: [stage.work.identifier], limit: .all), context)
        #expect(found.found.isEmpty)
    }

    @Test(arguments: ServiceRoute.allCases) func thePassphraseIsAskedForWhereThatIsWanted(route: ServiceRoute) throws {
        let stage = try ServiceStage(route, person: TypesInTurn("secret"))
        let silent = try request { $0.passphrase = .none }
        #expect(throws: KeychainError(.passphraseRequired)) { try stage.service.importFile(silent, context) }
        #expect(stage.person.requests.isEmpty)
        let wrong = try request { $0.passphrase = .given(SharedSecret(.of("wrong"))) }
        #expect(throws: KeychainError(.pkcs12VerifyFailure)) { try stage.service.importFile(wrong, context) }
        let asking = try request { $0.passphrase = .asked }
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try stage.service.importFile(asking, RequestContext(questions: .never))
        }
        #expect(try stage.service.importFile(asking, context).format == .pkcs12)
        #expect(stage.person.requests.map(\.subject) == ["jo.p12"])
    }

    @Test(arguments: ServiceRoute.allCases) func anAttributeIsForWhatTheFileHas(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        var request = ImportRequest(SharedSecret(.of(certificate.pem)), named: "jo.pem")
        request.target = ImportRequest.Target(stage.work.identifier)
        request.target?.keys = [.label: "mine"]
        #expect(throws: KeychainError(.noSuchAttribute)) { try stage.service.importFile(request, context) }
        request.target?.keys = [:]
        request.target?.certificates = [.account: "mine"]
        let error = #expect(throws: KeychainError(.noSuchAttribute)) {
            try stage.service.importFile(request, context)
        }
        #expect(error?.key == Attribute.account.rawValue)
        request.target?.certificates = [.label: "mine"]
        #expect(try items(stage.service.importFile(request, context)).map(\.item.label) == ["mine"])
    }
}
