import CryptokiNames
import HostAPI
import KeychainModel
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import VirtualCard

@testable import KeychainHost

/// Tokens as PKCS #11 has them, through `KeychainService`: places, logins of one client, and items as they were read.
@Suite struct ServiceTokenTests {
    private static let keys = TokenItemSelection([.privateKeys])

    private func context(_ place: String, _ pin: String? = nil, _ kind: CredentialKind = .pin) -> RequestContext {
        let credentials = pin.map { [RequestContext.Credential(kind, Secret(copying: Array($0.utf8).span))] } ?? []
        return RequestContext(questions: .never, credentials: credentials, place: place)
    }

    private func sign(_ stage: ServiceStage, _ key: Item, isAuthorized: Bool = false) throws -> [UInt8] {
        var request = KeyRequest(.sign(ServiceStage.digest), ServiceStage.algorithm, with: key.reference)
        request.isAuthorized = isAuthorized
        return try stage.service.perform(request, context("Desk Reader")).secret.copiedBytes
    }

    private func key(_ stage: ServiceStage, _ slot: CardKeyReference) throws -> Item {
        let hash = try TestCard().key(slot).publicKey.keyHash
        let found = try stage.service.tokenItems(in: "Desk Reader", Self.keys, context("Desk Reader")).found
        return try #require(found.first { $0[.applicationLabel] == .data(hash) && $0.isPrivateKey })
    }

    @Test(arguments: ServiceRoute.allCases)
    func readersComeFirstAndThenTheSearchListWithoutALookAtTheCard(_ route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let places = try stage.service.places(RequestContext()).found
        #expect(places.map(\.kind) == [.card, .file, .file])
        #expect(places.map(\.location) == ["Desk Reader", stage.login.path, stage.work.path])
        #expect(places.map(\.occupancy.hasToken) == [true, true, true])
        #expect(stage.reader.log.isEmpty)
        #expect(try stage.service.awaitPlaces(otherThan: [], RequestContext()).found == places)
    }

    @Test(arguments: ServiceRoute.allCases)
    func whatWasReadOfACardIsToldAgainWithoutACommandWhileItStaysIn(_ route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let first = try stage.service.tokenItems(in: "Desk Reader", Self.keys, context("Desk Reader")).found
        let name = try stage.service.token(in: "Desk Reader", telling: [.name, .pin, .keyLimits], RequestContext())
        #expect(name.name?.label.isEmpty == false)
        #expect(name.pin?.triesLeft != nil)
        stage.reader.clearLog()
        #expect(try stage.service.tokenItems(in: "Desk Reader", Self.keys, context("Desk Reader")).found == first)
        #expect(
            try stage.service.token(in: "Desk Reader", telling: [.name, .keyLimits], RequestContext()).name == name.name
        )
        #expect(stage.reader.log.isEmpty)
        stage.reader.remove()
        #expect(throws: KeychainError(.noSuchKeychain)) {
            try stage.service.token(in: "Desk Reader", telling: .name, RequestContext())
        }
    }

    @Test(arguments: ServiceRoute.allCases) func thePINOfALoginIsTheHostsToPresent(_ route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let key = try key(stage, .authentication)
        #expect(throws: KeychainError(.notLoggedIn)) { try sign(stage, key) }
        try stage.service.logIn(to: "Desk Reader", forOneUse: false, context("Desk Reader", "123456"))
        #expect(try stage.service.token(in: "Desk Reader", telling: .login, RequestContext()).login == 1)
        #expect(try stage.isSignature(sign(stage, key)))
        stage.reader.resetByAnotherClient()
        #expect(try stage.isSignature(sign(stage, key)))
        let again = KeychainError(.param, failure: .alreadyLoggedIn)
        #expect(throws: again) {
            try stage.service.logIn(to: "Desk Reader", forOneUse: false, context("Desk Reader", "123456"))
        }
        try stage.service.logOut(of: "Desk Reader", RequestContext())
        #expect(try stage.service.token(in: "Desk Reader", telling: .login, RequestContext()).login == nil)
        #expect(throws: KeychainError(.notLoggedIn)) { try sign(stage, key) }
    }

    @Test(arguments: ServiceRoute.allCases)
    func aKeyThatWantsThePINEachTimeIsUsedOncePerLogin(_ route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let key = try key(stage, .signature)
        try stage.service.logIn(to: "Desk Reader", forOneUse: false, context("Desk Reader", "123456"))
        #expect(try stage.isSignature(sign(stage, key), of: .signature))
        #expect(throws: KeychainError(.notLoggedIn)) { try sign(stage, key) }
        try stage.service.logIn(to: "Desk Reader", forOneUse: true, context("Desk Reader", "123456"))
        #expect(try stage.isSignature(sign(stage, key, isAuthorized: true), of: .signature))
    }

    @Test(arguments: ServiceRoute.allCases) func aRefusedPINIsToldWithItsKind(_ route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        for (pin, failure) in [("1", TokenFailure.pinFormat), ("654321", .pinIncorrect)] {
            do throws(KeychainError) {
                try stage.service.logIn(to: "Desk Reader", forOneUse: false, context("Desk Reader", pin))
                Issue.record("logged in")
            } catch {
                #expect(error.code == .authFailed)
                #expect(error.failure == failure)
            }
        }
        #expect(stage.pinsSent == 1)
    }

    @Test(arguments: ServiceRoute.allCases)
    func aKeychainIsUnlockedForTheClientAndTakesItsPasswordAsAPIN(_ route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let place = stage.login.path
        stage.login.lock()
        #expect(try stage.service.token(in: place, telling: .login, RequestContext()).login == nil)
        #expect(throws: KeychainError(.authFailed)) {
            try stage.service.logIn(to: place, forOneUse: false, context(place, "wrong", .password))
        }
        try stage.service.logIn(to: place, forOneUse: false, context(place, "p", .password))
        #expect(try stage.service.token(in: place, telling: .login, RequestContext()).login == 1)
        #expect(!stage.login.isLocked)
        let item = try stage.service.add(
            .genericPassword([.account: "anna", .service: "mail"], secret: Secret(copying: [1].span)), context(place))
        #expect(item.keychain == stage.login.identifier)
        #expect(try stage.service.secret(of: item, context(place))?.secret.copiedBytes == [1])
        // Another place's items are not looked for.
        #expect(throws: KeychainError(.itemNotFound)) {
            try stage.service.secret(of: item, context(stage.work.path))
        }
        let names = TokenItemSelection([], data: .known)
        #expect(try stage.service.tokenItems(in: place, names, context(place)).found == [item])
        try stage.service.logOut(of: place, RequestContext())
        #expect(stage.login.isLocked)
    }

    @Test(arguments: ServiceRoute.allCases) func aPINIsChangedByTheOldOne(_ route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        func shared(_ text: String) -> SharedSecret { SharedSecret(Secret(copying: Array(text.utf8).span)) }
        try stage.service.changePIN(of: "Desk Reader", from: shared("123456"), to: shared("765432"), RequestContext())
        try stage.service.logIn(to: "Desk Reader", forOneUse: false, context("Desk Reader", "765432"))
        let password = (shared("p"), shared("other"))
        try stage.service.changePIN(of: stage.login.path, from: password.0, to: password.1, RequestContext())
        stage.login.lock()
        try stage.login.unlock(password: Secret(copying: Array("other".utf8).span))
    }

    @Test func theBytesOfASecretKeyAreForTheHostsOwnProcess() throws {
        let stage = try ServiceStage(.call)
        let bytes = [UInt8](repeating: 3, count: 16)
        let item = try stage.service.add(
            .symmetricKey(Secret(copying: bytes.span), [.isExtractable: false]), context(stage.login.path))
        let host = try #require(stage.service as? Host)
        #expect(
            try host.keyBytes(of: item.reference, in: stage.login.path, for: .read, context(stage.login.path)).copied()
                == bytes)
        #expect(throws: KeychainError(.dataNotAvailable)) { try host.secret(of: item, context(stage.login.path)) }
    }
}
