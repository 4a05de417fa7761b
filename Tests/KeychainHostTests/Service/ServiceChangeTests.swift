import HostAPI
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import VirtualCard

@testable import HostAPI
@testable import KeychainHost
@testable import KeychainModel

/// Changes through `KeychainService`: as a whole or not at all.
@Suite(.serialized) struct ServiceChangeTests {
    private func password(_ account: String, to keychain: LocalKeychain) throws -> ChangeStep {
        .add(
            Addition(
                try .genericPassword([.service: "mail", .account: .string(account)], secret: .of("s3cret")),
                to: keychain.identifier))
    }

    private func named(_ account: String) throws -> Query {
        try Query.genericPasswords.where(.service, "mail").where(.account, account).checked()
    }

    @Test(arguments: ServiceRoute.allCases) func stepsInSeveralKeychainsAreOneChange(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        try stage.addPassword("old", to: stage.work)
        try stage.addPassword("renamed")
        let outcome = try stage.service.change(
            [
                password("first", to: stage.login), password("second", to: stage.work), .delete(named("old")),
                .update(named("renamed"), [.account: "other"]),
            ], RequestContext())
        #expect(outcome.found.added.map { $0[.account] } == ["first", "second"])
        #expect(outcome.found.added.map(\.keychain) == [stage.login.identifier, stage.work.identifier])
        #expect((outcome.found.updatedCount, outcome.found.deletedCount) == (1, 1))
        #expect(outcome.missing.isEmpty)
        #expect(try stage.accounts() == ["other", "first", "second"])
    }

    @Test(arguments: ServiceRoute.allCases) func nothingIsChangedWhereOneStepFails(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        try stage.addPassword("there", to: stage.work)
        try stage.addPassword("also")
        let before = try stage.accounts()
        let failing: [(ErrSec, ChangeStep)] = [
            (.duplicateItem, try password("there", to: stage.work)),
            (.duplicateItem, .update(try named("also"), [.account: "new"])),
            (.itemNotFound, .delete(try named("nowhere"))),
            (.itemNotFound, .update(try named("nowhere"), [.label: "x"])),
        ]
        for (code, step) in failing {
            // The failing step comes after or before a step that succeeds.
            let others = [try password("new", to: stage.login), .delete(try named("there"))]
            for steps in [[others[0], step], [step, others[0]]] {
                #expect(throws: KeychainError(code)) { try stage.service.change(steps, RequestContext()) }
                #expect(try stage.accounts() == before)
            }
        }
    }

    @Test(arguments: ServiceRoute.allCases) func aCardIsNotWrittenToAndNothingElseIs(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let certificate = try stage.identity().certificate
        let steps: [ChangeStep] = [try password("new", to: stage.login), .delete(Query(certificate.reference))]
        #expect(throws: KeychainError(.readOnly)) { try stage.service.change(steps, RequestContext()) }
        #expect(try stage.accounts().isEmpty)
        let onCard = Addition(try .certificate(TestKey.named("anna").certificate), to: try stage.token)
        #expect(throws: KeychainError(.readOnly)) { try stage.service.change([.add(onCard)], RequestContext()) }
    }

    @Test(arguments: ServiceRoute.allCases) func aLockedKeychainIsUnlockedForItsSecretOnce(route: ServiceRoute) throws {
        let stage = try ServiceStage(route, person: TypesInTurn("p"))
        stage.login.lock()
        let steps = [try password("one", to: stage.login), try password("two", to: stage.login)]
        #expect(try stage.service.change(steps, RequestContext()).found.added.count == 2)
        #expect(stage.person.requests.map(\.use) == ["store a generic password"])
    }

    @Test(arguments: ServiceRoute.allCases) func theDataOfAClientAreCheckedAgain(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let (anna, berta) = (try TestKey.named("anna"), try TestKey.named("berta"))
        let key = SharedSecret(try anna.privateKey.pkcs8())
        let wrong: [(ErrSec, Addition)] = [
            (.param, Addition(.key, [:], der: berta.publicKey.spki, secret: key, to: nil)),
            (.param, Addition(.genericPassword, [:], der: [1], secret: nil, to: nil)),
            (.param, Addition(.certificate, [:], der: nil, secret: key, to: nil)),
            (.param, Addition(.identity, [:], der: nil, secret: nil, to: nil)),
            (
                .param,
                Addition(.certificate, [.publicKeyHash: .data([1])], der: anna.certificate.der, secret: nil, to: nil)
            ),
            (.decode, Addition(.certificate, [:], der: [0x30, 0], secret: nil, to: nil)),
            (
                .noSuchKeychain,
                Addition(.genericPassword, [:], der: nil, secret: nil, to: KeychainIdentifier(rawValue: "local:x"))
            ),
        ]
        for (code, addition) in wrong {
            #expect(throws: KeychainError(code)) {
                try stage.service.change([.add(addition)], RequestContext(questions: .never))
            }
        }
        #expect(try stage.service.items(.keys).found.allSatisfy(\.isOnToken))
        let right = Addition(.key, [:], der: anna.publicKey.spki, secret: key, to: nil)
        #expect(try stage.service.change([.add(right)], RequestContext()).found.added.first?.isPrivateKey == true)
    }

    @Test(arguments: ServiceRoute.allCases) func aSymmetricKeyIsStoredAndUsed(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let key = try stage.service.add(
            .symmetricKey(Secret(copying: [UInt8](repeating: 3, count: 32).span), type: .hmac, [.label: "mac"]))
        let request = KeyRequest(.sign([1, 2]), .hmac(.sha256), with: key.reference)
        let code = try stage.service.perform(request, RequestContext()).secret.copiedBytes
        let bytes = try stage.service.secret(of: key)?.secret.copiedBytes
        #expect(bytes == [UInt8](repeating: 3, count: 32))
        #expect(
            code
                == (try HMAC.code(
                    for: [1, 2], key: Secret(copying: [UInt8](repeating: 3, count: 32).span), using: .sha256)))
    }
}
