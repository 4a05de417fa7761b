import Foundation
import HostAPI
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel

/// Keychains in files, and the settings that choose them, through `KeychainService`.
@Suite(.serialized) struct ServiceFileTests {
    private let context = RequestContext()
    private let silent = RequestContext(questions: .never)

    private func password(_ text: String) -> RequestContext {
        RequestContext(questions: .never, credentials: [.init(.password, .of(text))])
    }

    @Test(arguments: ServiceRoute.allCases) func aNewKeychainIsUnlockedAndInTheList(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let made = try stage.service.createKeychain("new", password: SharedSecret(.of("open")), context)
        #expect(made.keychain.status.contains(.unlocked) && made.keychain.name == "new")
        #expect(made.keychain.location == (try stage.service.path(ofKeychain: "new", context)))
        let choice = try stage.service.keychainChoice(in: nil, context)
        #expect(choice.searchList == [stage.login.path, stage.work.path, made.keychain.location])
        #expect(choice.defaultKeychain == stage.login.path)
        try stage.service.add(
            .genericPassword(ItemAttributes<GenericPasswords>().setting(.account, "a"), secret: .of("s")),
            to: made.keychain.identifier)
        #expect(throws: KeychainError(.duplicateKeychain)) {
            try stage.service.createKeychain("new", password: nil, context)
        }
        #expect(stage.person.requests.isEmpty)
    }

    @Test(arguments: ServiceRoute.allCases) func aPersonChoosesThePasswordOfANewKeychain(route: ServiceRoute) throws {
        let stage = try ServiceStage(route, person: TypesInTurn("open"))
        let made = try stage.service.createKeychain("new", password: nil, context)
        #expect(stage.person.requests.map(\.purpose) == [.newPassword])
        _ = try stage.service.lock(made.keychain.identifier, context)
        try stage.service.unlock(made.keychain.identifier, password("open"))
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try stage.service.createKeychain("other", password: nil, silent)
        }
        #expect(throws: KeychainError(.noSuchKeychain)) { try stage.service.openKeychain(at: "other", context) }
    }

    @Test(arguments: ServiceRoute.allCases) func aFileOutsideTheListIsOpenedByItsPath(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let path = stage.user.folder.path("apart.keychain")
        _ = try LocalKeychain.create(at: path, password: .of("open"), cost: ScryptCost(n: 2, r: 1, p: 1))
        let opened = try stage.service.openKeychain(at: path, context)
        #expect(opened.keychain.location == path && !opened.keychain.isDefault)
        #expect(!opened.keychain.status.contains(.unlocked))
        try stage.service.unlock(opened.keychain.identifier, password("open"))
        #expect(
            try stage.service.keychain(opened.keychain.identifier, context).keychain.status.contains(.unlocked))
        #expect(try stage.service.openKeychain(at: nil, context).keychain.identifier == stage.login.identifier)
        #expect(throws: KeychainError(.noSuchKeychain)) { try stage.service.openKeychain(at: path + "x", context) }
    }

    @Test(arguments: ServiceRoute.allCases) func aNamedCopyIsMeantInPlaceOfItsOriginal(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let item = try stage.service.add(
            .genericPassword(ItemAttributes<GenericPasswords>().setting(.account, "a"), secret: .of("old")),
            to: stage.login.identifier)
        let path = stage.user.folder.path("copy.keychain")
        for part in ["", "-wal"] {
            try FileManager.default.copyItem(atPath: stage.login.path + part, toPath: path + part)
        }
        let copy = try stage.service.openKeychain(at: path, context).keychain
        #expect(copy.identifier == stage.login.identifier && copy.location == path)
        try stage.service.unlock(copy.identifier, password("p"))
        _ = try stage.service.change([.update(Query(item.reference), [:], secret: SharedSecret(.of("new")))], context)
        #expect(try stage.service.secret(of: item.reference, silent)?.secret.copiedBytes == Array("new".utf8))
        #expect(try stage.login.secret(of: item.reference)?.copiedBytes == Array("old".utf8))
        _ = try stage.service.changePassword(
            of: copy.identifier, from: SharedSecret(.of("p")), to: SharedSecret(.of("q")), renewingKey: false, silent)
        try stage.service.configure(copy.identifier, KeychainSettings(locksOnSleep: true, lockInterval: 77), silent)
        try LocalKeychain.open(path).unlock(password: .of("q"))
        try LocalKeychain.open(stage.login.path).unlock(password: .of("p"))
        #expect(try stage.login.settings.lockInterval == nil)
        _ = try stage.service.change([.delete(Query(item.reference))], context)
        #expect(try stage.login.items(matching: Query(item.reference)).found.count == 1)
        // An item that the copy lacks is the original's.
        #expect(try stage.service.secret(of: item.reference, password("p"))?.secret.copiedBytes == Array("old".utf8))
        // Whoever names the original means it again.
        _ = try stage.service.openKeychain(at: stage.login.path, context)
        #expect(try stage.service.secret(of: item.reference, silent)?.secret.copiedBytes == Array("old".utf8))
    }

    @Test(arguments: ServiceRoute.allCases) func aKeyOutsideTheListSigns(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let path = stage.user.folder.path("apart.keychain")
        _ = try LocalKeychain.create(at: path, password: .of("open"), cost: ScryptCost(n: 2, r: 1, p: 1))
        let opened = try stage.service.openKeychain(at: path, password("open")).keychain
        try stage.service.unlock(opened.identifier, password("open"))
        let key = try PrivateKey.generate(.ecP256)
        let item = try stage.service.add(.privateKey(key, [:]), to: opened.identifier)
        let signature = try stage.service.perform(
            KeyRequest(.sign(ServiceStage.digest), ServiceStage.algorithm, with: item.reference), silent)
        #expect(
            try key.publicKey.verify(
                signature.secret.copiedBytes, of: ServiceStage.digest, using: ServiceStage.algorithm))
    }

    @Test(arguments: ServiceRoute.allCases) func aDeletedKeychainIsOutOfTheList(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        try stage.service.deleteKeychain(stage.work.path, context)
        #expect(try stage.service.keychainChoice(in: .user, context).searchList == [stage.login.path])
        #expect(throws: KeychainError(.noSuchKeychain)) { try stage.service.deleteKeychain("work", context) }
    }

    @Test(arguments: ServiceRoute.allCases) func aLockedKeychainIsUnlockedForItsSettings(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let settings = KeychainSettings(locksOnSleep: true, lockInterval: 600)
        stage.work.lock()
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try stage.service.configure(stage.work.identifier, settings, silent)
        }
        try stage.service.configure(stage.work.identifier, settings, password("p"))
        #expect(try stage.service.keychain(stage.work.identifier, context).settings == settings)
        #expect(throws: KeychainError(.noSuchKeychain)) {
            try stage.service.configure(stage.token, settings, context)
        }
    }

    @Test(arguments: ServiceRoute.allCases) func aPasswordThatComesAlongIsCheckedInAnyCase(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        #expect(throws: KeychainError(.authFailed)) {
            try stage.service.unlock(stage.login.identifier, password("wrong"))
        }
        try stage.service.unlock(stage.login.identifier, password("p"))
        try stage.service.unlock(stage.login.identifier, silent)
    }

    @Test(arguments: ServiceRoute.allCases) func settingsAreChosenByDomain(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        try stage.service.choose(.searchList(["work"]), in: .user, context)
        try stage.service.choose(.defaultKeychain("work"), in: .user, context)
        try stage.service.choose(.loginKeychain("work"), in: .user, context)
        let own = try stage.service.keychainChoice(in: .user, context)
        #expect(own.searchList == [stage.work.path])
        #expect(own.defaultKeychain == stage.work.path && own.loginKeychain == stage.work.path)
        let system = try stage.service.keychainChoice(in: .system, context)
        #expect(system == KeychainChoice(searchList: [], defaultKeychain: nil))
        try stage.service.choose(.defaultKeychain(nil), in: .user, context)
        for domain in [PreferencesDomain.dynamic] {
            #expect(throws: KeychainError(.invalidPreferencesDomain)) {
                try stage.service.keychainChoice(in: domain, context)
            }
            #expect(throws: KeychainError(.invalidPreferencesDomain)) {
                try stage.service.choose(.searchList([]), in: domain, context)
            }
        }
        #expect(throws: KeychainError(.invalidPreferencesDomain)) {
            try stage.service.choose(.loginKeychain("work"), in: .system, context)
        }
    }

    @Test(arguments: ServiceRoute.allCases) func aPersonShowsToBeThere(route: ServiceRoute) throws {
        let stage = try ServiceStage(route, person: TypesInTurn("wrong", "p"))
        let login = stage.login.identifier
        #expect(try stage.service.presenceProof(for: login, context) == .possible)
        #expect(try stage.service.presenceProof(for: login, silent) == .nobodyToAsk)
        #expect(try stage.service.presenceProof(for: login, password("any")) == .possible)
        #expect(throws: KeychainError(.authFailed)) {
            try stage.service.confirmPresence(for: login, password("wrong"))
        }
        let remembering = RequestContext(authentication: .next())
        try stage.service.confirmPresence(for: login, remembering)
        #expect(stage.person.requests.count == 2)
        try stage.service.confirmPresence(for: login, remembering)
        #expect(stage.person.requests.count == 2)
    }

    @Test(arguments: ServiceRoute.allCases) func aCardIsPresentedThePINEachTime(route: ServiceRoute) throws {
        let stage = try ServiceStage(route, person: TypesInTurn("123456", "123456"))
        let card = try stage.token
        #expect(try stage.service.presenceProof(for: card, context) == .possible)
        #expect(try stage.service.presenceProof(for: card, silent) == .nobodyToAsk)
        for count in 1...2 {
            try stage.service.confirmPresence(for: card, RequestContext(purpose: "verify it"))
            #expect(stage.pinsSent == count)
        }
        #expect(stage.person.requests.map(\.use) == ["verify it", "verify it"])
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try stage.service.confirmPresence(for: card, silent)
        }
        #expect(throws: KeychainError(.noSuchKeychain)) {
            try stage.service.confirmPresence(for: KeychainIdentifier(rawValue: "piv:none"), context)
        }
    }
}
