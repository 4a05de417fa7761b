import HostAPI
import SecureBytes
import SystemCrypto
import TestSupport
import Testing

@testable import KeychainHost
@testable import KeychainModel

/// Identities and copies of keys that are added through `KeychainService`. Keychain semantics 1.8 and 3.2.
@Suite(.serialized) struct ServiceIdentityTests {
    private func addition(
        _ key: IdentityAddition.Key? = nil, _ attributes: Attributes = [:], to keychain: LocalKeychain? = nil
    ) throws -> IdentityAddition {
        let anna = try TestKey.named("anna")
        return IdentityAddition(
            certificate: anna.certificate.der, key: try key ?? .new(SharedSecret(anna.privateKey.pkcs8())), attributes,
            to: keychain?.identifier)
    }

    private func add(
        _ addition: IdentityAddition, _ stage: ServiceStage, _ context: RequestContext = RequestContext()
    ) throws -> Identity {
        let found = try stage.service.change([.addIdentity(addition)], context).found
        #expect(found.added.isEmpty)
        return try #require(found.identities.first)
    }

    @Test(arguments: ServiceRoute.allCases) func bothHalvesAreAdded(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let identity = try add(addition(nil, [.label: "Anna"], to: stage.work), stage)
        #expect(identity.certificate.keychain == stage.work.identifier && identity.key.isPrivateKey)
        #expect(try stage.service.identities(.identities.where(.label, "Anna")).found == [identity])
        #expect(throws: KeychainError(.duplicateItem)) { try add(addition(nil, [:], to: stage.work), stage) }
    }

    @Test(arguments: ServiceRoute.allCases) func eitherHalfMayBeThere(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let anna = try TestKey.named("anna")
        let key = try stage.service.add(.privateKey(anna.privateKey))
        #expect(throws: KeychainError(.duplicateItem)) { try add(addition(nil, [.accessible: "aku"]), stage) }
        #expect(try add(addition(), stage).key == key)
        let certificate = try stage.service.add(.certificate(anna.certificate), to: stage.work.identifier)
        #expect(try add(addition(nil, [:], to: stage.work), stage).certificate == certificate)
    }

    @Test(arguments: ServiceRoute.allCases) func theKeyOfACardStaysThere(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let onCard = try stage.identity()
        let der = try #require(onCard.certificate.der)
        let identity = try add(IdentityAddition(certificate: der, key: .existing(onCard.key.reference)), stage)
        #expect(identity.key == onCard.key)
        #expect(identity.certificate.keychain == stage.login.identifier)
        #expect(stage.pinsSent == 0)
    }

    @Test(arguments: ServiceRoute.allCases) func aKeyOfAnotherCertificateIsRefused(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let berta = SharedSecret(try TestKey.named("berta").privateKey.pkcs8())
        #expect(throws: KeychainError(.param)) { try add(addition(.new(berta)), stage) }
        #expect(throws: KeychainError(.param)) { try add(addition(.existing(stage.identity().key.reference)), stage) }
        #expect(try stage.service.identities(.identities).found.count == 4)
    }

    @Test(arguments: ServiceRoute.allCases) func aCopyOfAKeyIsProtectedNoLess(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let anna = try TestKey.named("anna")
        let key = try stage.service.add(
            .privateKey(anna.privateKey, [.isSensitive: true, .accessible: "cku"]), to: stage.work.identifier)
        func copy(_ attributes: Attributes) throws -> Item? {
            let step = ChangeStep.copy(key.reference, attributes, to: stage.login.identifier)
            return try stage.service.change([step], RequestContext()).found.added.first
        }
        #expect(throws: KeychainError(.readOnlyAttribute)) { try copy([.isSensitive: false]) }
        let made = try #require(try copy([.label: "copy"]))
        #expect(made.keychain == stage.login.identifier && made.label == "copy")
        #expect(made[.isSensitive] == true && made[.accessible] == "cku")
        #expect(throws: KeychainError(.keyIsSensitive)) { try stage.service.secret(of: made) }
        #expect(try add(addition(.existing(key.reference)), stage).key != key)
    }

    @Test(arguments: ServiceRoute.allCases) func whatIsAskedForACopyIsAskedOnce(route: ServiceRoute) throws {
        let stage = try ServiceStage(route, person: TypesInTurn("p"))
        let control = AttributeValue.data(try AccessControl("ak", .userPresence).encoded())
        let key = try stage.service.add(
            .privateKey(TestKey.named("anna").privateKey, [.accessControl: control]), to: stage.work.identifier)
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try add(addition(.existing(key.reference)), stage, RequestContext(questions: .never))
        }
        let identity = try add(addition(.existing(key.reference)), stage)
        #expect(identity.key[.accessControl] == control)
        #expect(stage.person.requests.map(\.use) == ["store an identity"])
    }
}
