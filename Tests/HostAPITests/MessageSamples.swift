import CryptokiNames
import Foundation
import KeychainModel
import Localization
import SecureBytes
import SystemCrypto
import TestSupport

@testable import HostAPI

/// Requests and answers of every kind, with every field in use and with as few as possible.
enum MessageSamples {
    static let local = PersistentReference(.genericPassword, .local(UniqueID(bytes: 1...16)!))
    static let object = PersistentReference(.key, .token(id: "piv:0123", object: Array("9A\0hash".utf8)))

    static func secret(_ text: String) -> SharedSecret { SharedSecret(Secret(copying: Array(text.utf8).span)) }

    static func queries() throws -> [Query] {
        let list = ItemList([local, object], certificates: [[2, 1], [1, 2, 3]])
        let subject = NormalizedNames.anna
        var certificates = try Query(
            .certificate, [.label: "Ännchen", .publicKeyHash: .data([1, 2])],
            filters: [
                .subject(.contains, "anna"), .issuers([subject]), .emailAddress("a@b"), .policy(.tlsClient),
                .validOn(-5),
                .trusted, .items(list),
            ],
            folding: [.case, .diacritics],
            in: [KeychainIdentifier(rawValue: "local:1"), KeychainIdentifier(rawValue: "")],
            limit: .atMost(7))
        (certificates.isLocalOnly, certificates.isDistinct) = (true, true)
        certificates.includesAbsentTokens = true
        return [
            certificates, Query(local),
            try Query(object, [.canSign: true], limit: .all),
            try Query(.identity, [.synchronizable: Query.anySynchronizable], in: []),
            try Query(.internetPassword, [.port: 443], filters: [.hostOrSubdomain("example.org")], limit: .all),
        ]
    }

    static let algorithms: [KeyAlgorithm] =
        [
            .signature(.rsaRaw), .signature(.rsaPKCS1(nil)), .signature(.ed25519),
            .messageSignature(.rsaPSS(.sha256, mgf1: .sha1, saltLength: nil)),
            .messageSignature(.rsaPSS(.sha512, mgf1: .sha512, saltLength: 0)), .signature(.ecdsa(nil, .rfc4754)),
            .messageSignature(.ecdsa(.sha384, .x962)), .encryption(.raw), .encryption(.pkcs1),
            .encryption(.oaep(.sha224, mgf1: .sha1, label: [1, 2])), .keyExchange(.cofactor, nil),
            .keyExchange(.standard, .sha1), .ecies(.standard, .sha256, .derived), .aesGCM, .aesKeyWrap,
        ] + DigestAlgorithm.allCases.flatMap { [.hmac($0), .rsaHybrid($0)] }

    static func requests() throws -> [HostRequest] {
        let password = Addition(
            .genericPassword,
            [.account: "anna", .service: .data([0xFF]), .isInvisible: true, .creationDate: .date(-1)],
            der: nil, secret: secret("s3cret"), to: KeychainIdentifier(rawValue: "local:2"))
        let certificate = Addition(.certificate, [:], der: [0x30, 0], secret: nil, to: nil)
        var requests: [HostRequest] = [
            .keychains(.all), .secret(local), .secret(object),
            .unlock(KeychainIdentifier(rawValue: "piv:0123"), for: nil),
            .unlock(KeychainIdentifier(rawValue: "local:1"), for: .max), .lock(nil),
            .lock(KeychainIdentifier(rawValue: "local:1")), .events(of: .keychains, after: nil, waiting: .zero),
            .events(
                of: .keychains, after: EventPosition(subscription: .max, number: 3), waiting: .milliseconds(1500)),
            .change([]),
            .keychain(KeychainIdentifier(rawValue: "piv:0123")),
            .endAuthentication(AuthenticationNumber(rawValue: .max)),
            .path(ofKeychain: "login"), .openKeychain(at: nil), .openKeychain(at: "/srv/ä.keychain"),
            .createKeychain("new", password: nil), .createKeychain("./new", password: secret("open")),
            .deleteKeychain("new"),
            .configure(KeychainIdentifier(rawValue: "local:1"), KeychainSettings()),
            .configure(
                KeychainIdentifier(rawValue: "local:1"), KeychainSettings(locksOnSleep: true, lockInterval: .max)),
            .choose(.searchList([]), in: .user), .choose(.searchList(["a", "/b"]), in: .system),
            .choose(.defaultKeychain(nil), in: .user), .choose(.defaultKeychain("a"), in: .common),
            .choose(.loginKeychain(nil), in: .user), .choose(.loginKeychain("/a"), in: .dynamic),
            .keychainChoice(in: nil), .presenceProof(KeychainIdentifier(rawValue: "local:1")),
            .confirmPresence(KeychainIdentifier(rawValue: "local:1")),
            .change([
                .addIdentity(IdentityAddition(certificate: [0x30, 0], key: .existing(object))),
                .addIdentity(
                    IdentityAddition(
                        certificate: [], key: .new(secret("key")), [.label: "x"],
                        to: KeychainIdentifier(rawValue: "local:1"))),
                .copy(local, [.isSensitive: true], to: nil),
                .copy(object, [:], to: KeychainIdentifier(rawValue: "local:1")),
            ]),
        ]
        let keychain = KeychainIdentifier(rawValue: "local:1")
        requests += [
            .changePassword(of: keychain, from: secret("old"), to: secret("new"), renewingKey: true),
            .changePassword(of: keychain, from: nil, to: nil, renewingKey: false),
            .bind(keychain, to: KeychainIdentifier(rawValue: "piv:0123"), key: "9D"),
            .bind(keychain, to: KeychainIdentifier(rawValue: "piv:0123"), key: nil),
            .unbind(keychain, from: KeychainIdentifier(rawValue: "piv:0123")), .unbind(keychain, from: nil),
            .backUp(keychain, to: "/backup"), .restoreKeychain(from: "/backup", as: "login", password: nil),
            .restoreKeychain(from: "b", as: "./ä", password: secret("old")),
        ]
        for query in try queries() {
            requests += [
                .items(query), .identities(query), .explain(query, readingSecrets: true),
                .explain(query, readingSecrets: false),
            ]
            requests.append(
                .change([
                    .add(password), .update(query, [.label: "x"], secret: secret("")), .delete(query),
                    .add(certificate),
                    .update(query, [:]),
                ]))
        }
        let operations: [KeyRequest.Operation] = [
            .sign([1, 2, 3]), .decrypt([]),
            .exchange(peer: [4], KeyExchangeParameters(requestedSize: 32, sharedInfo: [5])),
            .exchange(peer: [], KeyExchangeParameters()), .verify([6], of: [7, 8]), .verify([], of: []),
            .encrypt(secret("plain")), .encrypt(secret("")),
        ]
        for algorithm in algorithms { requests += operations.map { .perform(KeyRequest($0, algorithm, with: object)) } }
        let keys: [KeyRequest.Key] = [
            .item(object), .given(GivenKey([.keyType: 42, .label: "k"], der: [0x30], secret: secret("key"))),
            .given(GivenKey([:], der: nil, secret: nil)),
        ]
        for key in keys {
            requests.append(.perform(KeyRequest(.sign([1]), .aesGCM, with: key)))
            requests += KeyOperation.allCases.map { .isSupported(.encryption(.pkcs1), for: $0, by: key) }
        }
        var authorized = KeyRequest(.sign([1]), .signature(.ecdsa(nil)), with: object)
        (authorized.isAuthorized, authorized.isUnwrapping) = (true, true)
        requests.append(.perform(authorized))
        requests += tokenRequests
        requests += PreferencesDomain.allCases.map { .keychainChoice(in: $0) }
        requests += CardAdministration.allCases.map { .administer(KeychainIdentifier(rawValue: "piv:0123"), $0) }
        requests.append(.usableCredentials)
        requests.append(.endEvents(at: EventPosition(subscription: 1, number: .max)))
        requests += try [.trustedRoots, .judge(ChainRequest(Self.certificate())), .judge(chainRequest())]
        requests += importRequests.map { .importFile($0) }
        requests.append(.exportFile(try exportRequest()))
        requests += ExportRequest.Format.allCases.map { .exportFile(ExportRequest([], as: $0)) }
        let selectors: [KeySelector] = [
            .name("9A"), .signer(""), .label("ä"), .publicKeyHash([1, 2]), .reference(object), .reference(local),
        ]
        requests += selectors.map { .keys(KeyQuery($0)) }
        requests += [
            .keys(KeyQuery(.name("k"), in: .keychains([]))), .keys(KeyQuery(.name("k"), in: .keychains([keychain]))),
            .keys(KeyQuery(.name("9A"), in: .absentTokens)), .askAhead(of: .use(of: object)),
            .vouching(for: local, with: [0x30, 0]), .askAhead(of: .change(of: keychain)),
            .askAhead(of: .reading(of: keychain)), .keychains(.knownCards), .keys(KeyQuery(.cryptokiID([1, 0]))),
            .keys(KeyQuery(.any, in: .knownTokens)), .damage(Query(local)), .storedSecret(of: local),
        ]
        return try requests + cardRequests + hostRequests + searchRequests() + accessRequests
    }

    private static var tokenRequests: [HostRequest] {
        let selections: [TokenItemSelection] = [
            TokenItemSelection([]), TokenItemSelection(.all, cryptokiID: [1], reference: object, data: .possible),
            TokenItemSelection([.certificates, .secretKeys], cryptokiID: [], data: .known),
            TokenItemSelection([.publicKeys, .privateKeys], data: .among([local, object])),
            TokenItemSelection([], data: .among([])),
        ]
        return [
            .places, .awaitPlaces(otherThan: []), .awaitPlaces(otherThan: places), .token(in: "", telling: []),
            .token(in: "Reader", telling: .all), .logIn(to: "Reader", forOneUse: false),
            .logIn(to: "/ä.keychain", forOneUse: true), .logOut(of: "Reader"),
            .changePIN(of: "Reader", from: secret("123456"), to: secret("")),
        ] + selections.map { .tokenItems(in: "Reader", $0) }
    }

    static let places = [
        TokenPlace(
            .card, at: "Reader", name: "Reader", slotName: CryptokiSlotName(reader: "Reader"),
            occupancy: TokenPlace.Occupancy(hasToken: true, changeCount: 3)),
        TokenPlace(
            .file, at: "/ä.keychain", name: "ä",
            slotName: CryptokiSlotName(description: "Keychain ä", manufacturer: "tokenkit", number: .max),
            occupancy: TokenPlace.Occupancy(hasToken: false)),
    ]

    private static var tokens: [TokenDescription] {
        var token = TokenDescription(generation: 2, login: 7)
        token.version = -1
        token.name = CryptokiTokenName(label: "Ännchen", manufacturer: "", model: "card", serialNumber: "47")
        token.pin = TokenPIN(
            isReadOnly: true, needsLogin: true, canAsk: true, triesLeft: 2, maximumTries: 3, lengths: 6...8,
            version: "5.7.1")
        token.keyLimits = .unknown
        var keychain = TokenDescription(generation: 0)
        keychain.pin = TokenPIN(isReadOnly: false, needsLogin: false, canAsk: false, lengths: 0...0)
        return [token, keychain, TokenDescription(generation: 0, login: 0)]
    }

    private static func explanation(of visits: [Explanation.Visit]) -> Explanation {
        Explanation(
            itemClass: .certificate, columns: visits.isEmpty ? [] : [.label, .serialNumber],
            filters: visits.map(\.keychain), limit: visits.isEmpty ? nil : 2, visits: visits, count: visits.count)
    }

    static func certificate() throws -> Certificate {
        try Certificate(
            der: Array(Data(contentsOf: Program.packageRoot.appending(path: "Tests/Fuzz/Seeds/certificate/p256"))))
    }

    private static func chainRequest() throws -> ChainRequest {
        var request = ChainRequest(try certificate(), helpers: [try certificate()])
        request.keychains = [KeychainIdentifier(rawValue: "local:1")]
        request.anchors = [try certificate()]
        (request.trustsSystem, request.endsAtAnyAnchor) = (false, true)
        (request.time, request.securityLevel) = (-1, .min)
        request.revocation = ChainRequest.Revocation(files: [secret("list"), secret("")], isRequired: true)
        return request
    }

    private static var importRequests: [ImportRequest] {
        var full = ImportRequest(secret("file"), named: "ä.p12")
        (full.kind, full.format, full.passphrase) = (.priv, .pkcs12, .given(secret("open")))
        full.refusesSeveralKeys = true
        var target = ImportRequest.Target(KeychainIdentifier(rawValue: "local:1"))
        (target.certificates, target.keys) = ([.label: "c"], [.label: "k"])
        (target.privateKeys, target.requiresProtection) = ([.isExtractable: false], true)
        full.target = target
        var asking = ImportRequest(secret(""), named: "")
        asking.passphrase = .asked
        return [full, asking, ImportRequest(secret("pem"), named: "-")]
    }

    private static func exportRequest() throws -> ExportRequest {
        let key = try PublicKey(spki: certificate().spki)
        var request = ExportRequest(
            [
                .certificate(try certificate(), name: "Jo"), .publicKey(key), .publicKey(key, name: ""),
                .privateKey(.item(object), name: "k"),
                .privateKey(.given(GivenKey([:], der: nil, secret: secret("k")))),
            ], as: .pkcs12)
        (request.isArmored, request.passphrase, request.subject) = (true, .asked, "ä")
        return request
    }

    static let contexts: [RequestContext] = [
        RequestContext(),
        RequestContext(
            number: RequestNumber(rawValue: .max), purpose: "sign a letter", questions: .byClient,
            credentials: [
                .init(.pin, Secret(copying: Array("123456".utf8).span)), .init(.password, Secret(capacity: 0) { _ in }),
                .init(.applicationPassword, Secret(copying: [0].span)),
            ], authentication: AuthenticationNumber(rawValue: .max), mayUseLastTry: true, timeLimit: .seconds(60),
            place: "Desk Reader"),
        RequestContext(questions: .never, timeLimit: .zero),
    ]

    static func answers() throws -> [HostAnswer] {
        let item = Item(
            .key, attributes: [.label: "k", .keySizeInBits: .number(-1), .canSign: true],
            keychain: KeychainIdentifier(rawValue: "piv:1"),
            reference: object, der: [0x30])
        var named = Item(.certificate, attributes: [:], keychain: KeychainIdentifier(rawValue: ""), reference: local)
        named.tokenTraits = TokenTraits(
            cryptokiID: [1], pinUse: .always, touchUse: .expected, publicLabel: "ö",
            objectIdentifier: [0x06, 0x01, 0x01])
        let error = KeychainError(.authFailed, "wrong PIN", remedy: "try", key: "u_AuthUI", triesLeft: 2)
        let missing =
            Missing.Kind.allCases.map { Missing($0, in: .file, of: "login", error) }
            + Missing.Place.allCases.map {
                Missing(.unreadableKeychain, in: $0, of: "", KeychainError(ErrSec(rawValue: .min), ""))
            }
        var changed = ChangeResult()
        (changed.added, changed.updatedCount, changed.deletedCount) = ([item, named], 3, 4)
        changed.identities = [Identity(certificate: named, key: item)]
        let events =
            KeychainEvent.Kind.allCases.map {
                KeychainEvent($0, keychain: item.keychain, location: "/a", item: local, process: -1)
            } + [KeychainEvent(.lock)]
        let description = KeychainDescription(
            item.keychain, .card, name: "PIV 1", location: "Reader", status: [.readable, .unlocked], isDefault: true,
            token: KeychainDescription.Token(
                manufacturer: "Yubico", model: "", serialNumber: "4711", version: "5.7.1",
                slotName: places[0].slotName, module: "opensc"))
        var unlocking = UnlockingDetails()
        (unlocking.hasPassword, unlocking.passwordCost) = (false, ScryptCost(n: .max, r: .max, p: 1))
        unlocking.cards = [
            BoundCard(item.keychain, label: "PIV 1", key: "9D", proof: "9E", isChallenged: true),
            BoundCard(item.keychain, label: "", key: "", proof: nil, isChallenged: false),
        ]
        unlocking.failures = [error]
        var change = PasswordChange(leftover: error)
        (change.renewed, change.dropped) = (unlocking.cards, [unlocking.cards[1]])
        var answers: [HostAnswer] = [
            .done, .failed(error), .failed(KeychainError(.param)), .keychains(Outcome([description], missing: missing)),
            .items(Outcome([item, named], missing: missing)), .items(Outcome()),
            .identities(Outcome([Identity(certificate: named, key: item)])), .secret(nil), .secret(secret("")),
            .secret(secret("result")), .changed(Outcome(changed, missing: missing)), .changed(Outcome(ChangeResult())),
            .locked(missing: missing),
            .locked(missing: []), .events(EventPage(events, next: EventPosition(subscription: 1, number: 2))),
            .events(EventPage([], next: EventPosition(subscription: 1, number: 2), isIncomplete: true)),
            .keychain(KeychainDetails(description)),
            .keychain(KeychainDetails(description, triesLeft: 0, otherLocations: ["a", "b"])),
            .keychain(KeychainDetails(description, settings: KeychainSettings(locksOnSleep: true, lockInterval: 0))),
            .path(""), .path("/ä"), .choice(KeychainChoice(searchList: [], defaultKeychain: nil)),
            .choice(KeychainChoice(searchList: ["a", "b"], defaultKeychain: "a", loginKeychain: "b")),
        ]
        let visits = [
            Explanation.Visit(keychain: "login", outcome: .skipped(reason: "why")),
            Explanation.Visit(keychain: "", outcome: .failed(reason: "")),
            Explanation.Visit(
                keychain: "Reader", outcome: .searched(matches: 2), damage: ["x"], question: "PIN",
                plan: ["SEARCH", "SCAN"]),
        ]
        answers += [
            .explanation(explanation(of: [])), .explanation(explanation(of: visits)), .supported(true),
            .supported(false), .keychain(KeychainDetails(description, unlocking: unlocking)),
            .boundCards(unlocking.cards), .boundCards([]), .passwordChange(PasswordChange()), .passwordChange(change),
            .backup(BackupCount(items: 3, leftOut: 1, damaged: 2)), .credentials([]),
            .credentials(CredentialKind.allCases), .places(Outcome(places, missing: missing)), .places(Outcome([])),
        ]
        answers += PresenceProof.allCases.map { .presenceProof($0) }
        answers += tokens.map { .token($0) }
        answers += TokenFailure.allCases.map { .failed(KeychainError(.notLoggedIn, failure: $0)) }
        let damaged = KeychainDescription(
            item.keychain, .file, name: "a", location: "/a", status: [], damage: error)
        return try answers + answersAboutFiles(item, named, missing) + answersAboutKeys(item, missing)
            + answersAboutCards(description, error)
            + [.keychains(Outcome([damaged])), .damage(missing), .damage([])] + hostAnswers
            + searchAnswers(item, named, missing, description)
    }

    private static func answersAboutKeys(_ item: Item, _ missing: [Missing]) -> [HostAnswer] {
        let keys = [
            KeyDescription(item, keychainName: "Reader", slotName: places[0].slotName),
            KeyDescription(item, keychainName: ""),
        ]
        return [.keys(Outcome(keys, missing: missing)), .keys(Outcome([]))] + Vouching.allCases.map { .vouching($0) }
    }

    private static func answersAboutFiles(
        _ item: Item, _ named: Item, _ missing: [Missing]
    ) throws -> [HostAnswer] {
        let certificate = try certificate()
        let objects = ImportedContent.Content.objects(
            [certificate], [try PublicKey(spki: certificate.spki)], privateKeys: [secret("key")])
        let items = ImportedContent.Content.items([
            ImportedItem(item, isNew: true), ImportedItem(named, isNew: false),
        ])
        return [
            .certificates([]), .certificates([certificate]), .verdict(Outcome(.trusted([certificate]))),
            .verdict(Outcome(.untrusted(reason: "self-signed", depth: 1), missing: missing)),
            .imported(ImportedContent(.pem, objects, others: ["X509 CRL"])), .imported(ImportedContent(.pkcs12, items)),
        ]
    }
}
extension MessageSamples {
    static let questions: [HostQuestion] =
        PromptRequest.Purpose.allCases.map {
            .secret(
                PromptRequest(
                    $0, subject: "Ännchen's card", use: "sign a letter", triesLeft: 2, failure: "wrong PIN",
                    form: PromptRequest.Form(lengths: 6...8, onlyDigits: true)))
        } + [
            .secret(PromptRequest(.newPassword, subject: "")),
            .secret(PromptRequest(.newPIN, subject: "card", form: PromptRequest.Form(lengths: 0...0))),
            .anotherSecret(PromptRequest(.password, subject: "a file", use: "read it")),
            .consent("Use the last try?"), .abilities,
        ]

    static let replies: [HostReply] = [
        .secret(secret("123456")), .secret(secret("")), .consent(true), .consent(false),
        .failed(KeychainError(.userCanceled, "canceled")), .abilities(abilities[0]), .abilities(abilities[1]),
    ]

    static let abilities = [
        PromptAbilities(
            canAsk: true, canAskAgain: false, canConfirm: true, allowsPINPad: false, alternative: "give it otherwise"),
        PromptAbilities(of: PersonForQuestions()),
    ]

    static let options: [HostOptions] = [
        .standard, HostOptions(modules: .none, recalls: false),
        HostOptions(
            modules: .named(["opensc", "/usr/lib/module.so"]), reader: "pkcs11:serial=4711", waitsOnce: true,
            accessGroups: AccessGroups(["*", "mail"])),
        HostOptions(modules: .named([]), reader: "", accessGroups: AccessGroups([])),
        HostOptions(hasMoreRights: true),
    ]

    static let notices: [HostNotice] = [
        .remark(""), .message("Touch the card now: 'Ännchen' waits for it.", number: 1),
        .wait(forCardIn: "Desk Reader", number: .max), .over(.max),
    ]
}

/// Names in DER.
private enum NormalizedNames {
    /// `CN=anna`
    static let anna: [UInt8] =
        [0x30, 0x0F, 0x31, 0x0D, 0x30, 0x0B, 0x06, 0x03, 0x55, 0x04, 0x03, 0x0C, 0x04] + Array("anna".utf8)
}
