import ItemDictionaries
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost
@testable import KeychainModel

@Suite struct IdentityTests {
    private func list(_ desk: Desk? = nil, _ locals: TestKeychain...) -> SearchList {
        SearchList(tokens: desk.map { [$0.token] } ?? [], locals: locals.map(\.keychain))
    }

    @Test func aCardIsFullOfIdentities() throws {
        let desk = try Desk()
        let found = try list(desk).identities()
        #expect(found.map(\.certificate.label) == found.map(\.key.label))
        #expect(found.count == 4)
        #expect(found.allSatisfy { $0.certificate.publicKeyHash == $0.key.publicKeyHash })
    }

    @Test func aLocalCertificatePairsWithTheKeyOnACard() throws {
        // Only metadata reports a key that has no certificate.
        let card = TestCard(profile: .yubiKey57, slots: [.authentication], withoutCertificate: [.authentication])
        let (local, desk) = (try TestKeychain(), try Desk(card))
        try local.add(card.key(.authentication).certificate)
        let identity = try #require(try list(desk, local).identities().first)
        #expect(!identity.certificate.isOnToken)
        #expect(identity.key.isOnToken)
    }

    @Test func aCertificateOnACardPairsWithALocalKey() throws {
        let other = try TestKey.named("software")
        let card = TestCard(slots: [.authentication], certificates: [.authentication: other.certificate.der])
        let (local, desk) = (try TestKeychain(), try Desk(card))
        try local.add(other.privateKey)
        // The card does not report its keys, so the certificate's key counts as the slot's, and precedes the local one.
        #expect(try list(desk, local).identities().map(\.key.isOnToken) == [true])
        let telling = try Desk(
            TestCard(
                profile: .yubiKey57, slots: [.authentication],
                certificates: [.authentication: other.certificate.der]))
        let identity = try #require(try list(telling, local).identities().first)
        #expect(identity.certificate.isOnToken)
        #expect(!identity.key.isOnToken)
    }

    @Test func twoCertificatesOfOneKeyAreTwoIdentities() throws {
        let local = try TestKeychain()
        let key = try TestKey.named("anna")
        try local.add(key.privateKey)
        try local.add(key.certificate)
        try local.add(TestKey.certificate(of: key.publicKey, "anna at work"))
        let found = try list(nil, local).identities()
        #expect(found.map(\.certificate.commonName) == ["anna holder", "anna at work"])
        #expect(Set(found.map(\.key)).count == 1)
        #expect(try list(nil, local).identities(limit: .one).count == 1)
    }

    @Test func aKeyInTheCertificatesOwnKeychainIsPreferred() throws {
        let (first, second) = (try TestKeychain(), try TestKeychain())
        let key = try TestKey.named("anna")
        for local in [first, second] {
            try local.add(key.privateKey)
            try local.add(key.certificate)
        }
        let found = try list(nil, first, second).identities()
        #expect(found.map(\.certificate.keychain) == [first.keychain.identifier, second.keychain.identifier])
        #expect(found.map(\.key.keychain) == found.map(\.certificate.keychain))
    }

    @Test func elseTheFirstKeyInTheListIsTaken() throws {
        let card = TestCard(slots: [.authentication])
        let (local, certificates, desk) = (try TestKeychain(), try TestKeychain(), try Desk(card))
        try local.add(card.key(.authentication).privateKey)
        try certificates.add(card.key(.authentication).certificate)
        let found = try list(desk, local, certificates).identities([.tokenID: ""])
        #expect(found.map(\.certificate.keychain) == [certificates.keychain.identifier])
        #expect(found.map(\.key.isOnToken) == [true])
    }

    @Test func whereCardsAreLeftOutSoAreIdentitiesWithTheirKeys() throws {
        let local = try TestKeychain()
        let desk = try Desk(TestCard(profile: .yubiKey57, withoutCertificate: [.authentication]))
        try local.add(TestCard().key(.authentication).certificate)
        let session = KeychainSession(searchList: SearchList(tokens: [desk.token], locals: [local.keychain]))
        let query: ItemDictionary = ["class": .string("idnt"), "tkid": .string(""), "r_Ref": .bool(true)]
        #expect(try session.copyMatching(query).found?.identity?.key.isOnToken == true)
        let localOnly = query.merging(["u_LocalOnly": .bool(true)]) { $1 }
        expect(.itemNotFound) { try session.copyMatching(localOnly) }
        try local.add(TestCard().key(.authentication).privateKey)
        #expect(try session.copyMatching(localOnly).found?.identity?.key.isOnToken == false)
    }

    @Test func aPublicKeyMakesNoIdentity() throws {
        let local = try TestKeychain()
        let key = try TestKey.named("anna")
        try local.keychain.add(.publicKey(key.publicKey))
        try local.add(key.certificate)
        #expect(try list(nil, local).identities().isEmpty)
        try local.add(key.privateKey)
        #expect(try list(nil, local).identities().count == 1)
    }

    @Test func theAttestationKeyMakesNoIdentity() throws {
        let desk = try Desk(TestCard(profile: .yubiKey57))
        let keys = try desk.items(.key)
        let attestation = try #require(keys.first { $0.label == "Attestation" })
        #expect(!attestation.isUsablePrivateKey)
        #expect(keys.count == 5)
        #expect(try desk.items(.certificate).count == 5)
        #expect(try list(desk).identities().count == 4)
    }

    @Test func labelAndSubjectAreTheCertificates() throws {
        let local = try TestKeychain()
        let key = try TestKey.named("anna")
        try local.add(key.privateKey, [.label: "the key"])
        try local.add(key.certificate, [.label: "the certificate"])
        let list = list(nil, local)
        #expect(try list.identities([.label: "the key"]).isEmpty)
        #expect(try list.identities([.label: "the certificate"]).count == 1)
        let subject = try Query(
            .identity, filters: [.subject(SubjectMatch(.contains, "ANNA"))], folding: .case, limit: .all)
        #expect(try list.identities(matching: subject).found.count == 1)
        let stranger = try Query(.identity, filters: [.subject(SubjectMatch(.contains, "ben"))], limit: .all)
        #expect(try list.identities(matching: stranger).found.isEmpty)
        try local.keychain.update(matching: Query(.key, [.label: "the key"]), to: ItemChanges([.label: "renamed"]))
        #expect(try list.identities([.label: "the certificate"]).count == 1)
    }

    @Test func attributesOfKeysFilterAsWell() throws {
        let local = try TestKeychain()
        for (name, kind) in [("anna", KeyKind.ecP256), ("rosa", .rsa(bits: 2048))] {
            let key = try TestKey.named(name, kind)
            try local.add(key.privateKey)
            try local.add(key.certificate)
        }
        let list = list(nil, local)
        #expect(
            try list.identities([.keyType: KeyType.rsa.value]).map(\.certificate.commonName) == ["rosa holder"])
        #expect(try list.identities([.keySizeInBits: 256]).map(\.certificate.commonName) == ["anna holder"])
        #expect(try list.identities([.canSign: true]).count == 2)
    }

    @Test func theIssuerIsFoundRawAndNormalised() throws {
        let local = try TestKeychain()
        let key = try TestKey.named("anna")
        try local.add(key.privateKey)
        let item = try local.add(key.certificate)
        let normalised = try #require(item[.issuer])
        let list = list(nil, local)
        let raw = try list.identities([.issuer: .data(key.certificate.issuer.der)])
        #expect(raw.count == 1)
        #expect(try list.identities([.issuer: normalised]) == raw)
    }

    @Test func synchronizableIsOneOfBothOrAny() throws {
        let local = try TestKeychain()
        let key = try TestKey.named("anna")
        try local.add(key.privateKey, [.synchronizable: 1])
        try local.add(key.certificate, [.synchronizable: 1])
        let list = list(nil, local)
        #expect(try list.identities().isEmpty)
        #expect(try list.identities([.synchronizable: 1]).count == 1)
        #expect(try list.identities([.synchronizable: Query.anySynchronizable]).count == 1)
    }

    @Test func aReferenceLeadsBackToItsIdentity() throws {
        let (local, desk) = (try TestKeychain(), try Desk())
        let key = try TestKey.named("anna")
        try local.add(key.privateKey, [.synchronizable: 1])
        try local.add(key.certificate)
        let list = list(desk, local)
        for identity in try list.identities([.synchronizable: Query.anySynchronizable]) {
            #expect(identity.reference.itemClass == .identity)
            let stored = try PersistentReference(parsing: identity.reference.encoded())
            #expect(try list.identities(matching: Query(stored)).found == [identity])
            #expect(try list.keys(.reference(stored)).found.map(\.publicKey) == [identity.key.der])
        }
        let another = PersistentReference(.identity, .local(UniqueID()))
        #expect(try list.identities(matching: Query(another)).found.isEmpty)
        #expect(try list.keys(.reference(another)).found.isEmpty)
    }

    @Test func onlyTheKeychainsOfTheQueryAreSearchedForBothHalves() throws {
        let (certificates, keys) = (try TestKeychain(), try TestKeychain())
        let key = try TestKey.named("anna")
        try certificates.add(key.certificate)
        try keys.add(key.privateKey)
        let list = list(nil, certificates, keys)
        let (first, second) = (certificates.keychain.identifier, keys.keychain.identifier)
        #expect(try list.identities(matching: Query(.identity, in: [first], limit: .all)).found.isEmpty)
        #expect(try list.identities(matching: Query(.identity, in: [first, second], limit: .all)).found.count == 1)
    }
}
