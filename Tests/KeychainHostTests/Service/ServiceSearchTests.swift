import HostAPI
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost
@testable import KeychainModel
@testable import KeychainStore

/// Searches of the search list through `KeychainService`.
@Suite(.serialized) struct ServiceSearchTests {
    @Test(arguments: ServiceRoute.allCases) func membersAreListedWithTheirState(route: ServiceRoute) throws {
        let stage = try ServiceStage(route, person: TypesInTurn("123456"))
        stage.work.lock()
        let members = try stage.service.keychains(RequestContext()).found
        #expect(members.map(\.kind) == [.card, .file, .file])
        #expect(members.map(\.location) == ["Desk Reader", stage.login.path, stage.work.path])
        #expect(members.map(\.name).suffix(2) == ["login", "work"])
        #expect(members.map(\.isDefault) == [false, true, false])
        #expect(members.map { $0.status.contains(.unlocked) } == [false, true, false])
        try stage.service.unlock(members[0].identifier, RequestContext())
        #expect(try stage.service.keychains(RequestContext()).found[0].status == [.readable, .unlocked])
    }

    @Test(arguments: ServiceRoute.allCases) func itemsOfBothKeychainsAreFoundInOrder(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        try stage.addPassword("work", to: stage.work)
        try stage.addPassword("login")
        #expect(try stage.accounts() == ["login", "work"])
        let mail = Query.genericPasswords.where(.service, "mail")
        #expect(try stage.service.items(mail.in(stage.work.identifier)).found.map { $0[.account] } == ["work"])
        #expect(try stage.service.items(mail.first()).found.count == 1)
        #expect(try stage.service.items(.genericPasswords.where(.service, "web")).found.isEmpty)
    }

    @Test(arguments: ServiceRoute.allCases) func anIdentityIsPairedAcrossCardAndFile(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let key = try TestKey.named("anna")
        try stage.service.add(.privateKey(key.privateKey, [:]), to: stage.work.identifier)
        let certificate = try stage.service.add(.certificate(key.certificate))
        let found = try stage.service.identities(.identities.subject(.contains, "anna")).found
        #expect(found.map(\.certificate) == [certificate])
        #expect(found.map(\.key.keychain) == [stage.work.identifier])
        #expect(found.first?.certificate.certificate == key.certificate)
        #expect(try stage.service.identities(.identities).found.count == 5)
    }

    @Test(arguments: ServiceRoute.allCases) func aQueryThatCannotBeHonouredNamesItsKey(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let error = #expect(throws: KeychainError(.param)) {
            try stage.service.items(matching: Query(.identity), RequestContext())
        }
        #expect(error?.key == "class")
    }

    @Test(arguments: ServiceRoute.allCases) func aMemberThatIsMissingIsToldAndHidesNothing(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        try stage.addPassword("anna")
        try stage.user.preferences.setSearchList([stage.login.path, "/nowhere/x.keychain"])
        let outcome = try stage.service.items(.genericPasswords)
        #expect(outcome.found.count == 1)
        #expect(outcome.missing.map(\.kind) == [.absentKeychain])
        #expect(outcome.missing.first?.error.code == .noSuchKeychain)
        #expect(try stage.service.keychains(RequestContext()).missing == outcome.missing)
    }

    @Test(arguments: ServiceRoute.allCases) func aKnownCardThatIsOutIsTold(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let key = try stage.identity().key
        stage.reader.remove()
        let outcome = try stage.service.items(matching: Query(key.reference), RequestContext())
        #expect(outcome.found.isEmpty)
        #expect(outcome.missing.map(\.kind) == [.absentKeychain])
        #expect(outcome.missing.first?.error.remedy == "insert it")
    }

    @Test(arguments: ServiceRoute.allCases) func aSecretIsReadOnceItsKeychainIsOpen(route: ServiceRoute) throws {
        let stage = try ServiceStage(route, person: TypesInTurn("p"))
        let item = try stage.addPassword("anna", "s3cret")
        stage.login.lock()
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try stage.service.secret(of: item, RequestContext(questions: .never))
        }
        #expect(stage.person.requests.isEmpty)
        let secret = try #require(try stage.service.secret(of: item, RequestContext(purpose: "log in")))
        #expect(secret.secret.copiedBytes == Array("s3cret".utf8))
        #expect(stage.person.requests.map(\.use) == ["log in"])
        _ = try stage.service.secret(of: item)
        #expect(stage.person.requests.count == 1)
    }

    @Test(arguments: ServiceRoute.allCases) func aPasswordThatComesAlongIsAskedOfNobody(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let item = try stage.addPassword("anna")
        stage.login.lock()
        let wrong = RequestContext(credentials: [.init(.password, .of("wrong"))])
        #expect(throws: KeychainError(.authFailed)) { try stage.service.secret(of: item, wrong) }
        let right = RequestContext(credentials: [.init(.password, .of("p"))])
        #expect(try stage.service.secret(of: item, right) != nil)
        #expect(stage.person.requests.isEmpty && stage.clientPerson.requests.isEmpty)
    }

    @Test(arguments: ServiceRoute.allCases) func aKeyOnACardIsNotReadOut(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let key = try stage.identity().key
        #expect(throws: KeychainError(.dataNotAvailable)) { try stage.service.secret(of: key) }
    }

    @Test(arguments: ServiceRoute.allCases) func aStoredSecretIsToldAsItsFileHasIt(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let item = try stage.addPassword("anna", "s3cret")
        stage.login.lock()
        let stored = try #require(try stage.service.storedSecret(of: item.reference, RequestContext()))
        #expect(stored.secret.copiedBytes == (try stage.login.sealedSecret(of: item.reference)))
        #expect(!stored.secret.copiedBytes.contains(sequence: Array("s3cret".utf8)))
        #expect(stage.person.requests.isEmpty)
        let key = try stage.identity().key.reference
        #expect(throws: KeychainError(.param)) { try stage.service.storedSecret(of: key, RequestContext()) }
        try stage.service.delete(.genericPasswords.where(.service, "mail"))
        #expect(throws: KeychainError(.itemNotFound)) {
            try stage.service.storedSecret(of: item.reference, RequestContext())
        }
    }

    /// A program that adds an item anew deletes the old one first, whatever else is damaged.
    @Test(arguments: ServiceRoute.allCases) func damageIsToldByTheValuesThatCanStillBeRead(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        for account in ["anna", "berta"] { try stage.addPassword(account) }
        try Database(path: stage.login.path, access: .readWrite, busyTimeout: 1000)
            .execute("UPDATE genp SET labl = 'x' WHERE acct = 'berta'")
        func damage(_ account: String, _ keychain: KeychainIdentifier? = nil) throws -> [Missing.Kind] {
            var query = try Query.genericPasswords.where(.account, account).checked()
            query.keychains = keychain.map { [$0] }
            return try stage.service.damage(matching: query, RequestContext()).map(\.kind)
        }
        let own = try damage("berta")
        #expect(own == [.damagedItem])
        #expect(try damage("anna").isEmpty && damage("berta", stage.work.identifier).isEmpty)
        let outcome = try stage.service.items(.genericPasswords.where(.account, "anna"))
        #expect(outcome.found.count == 1)
    }
}

extension [UInt8] {
    fileprivate func contains(sequence: [UInt8]) -> Bool {
        indices.contains { self[$0...].starts(with: sequence) }
    }
}
