import KeychainModel
import Localization
import SecureBytes
import SystemCrypto

@testable import HostAPI

extension MessageSamples {
    private static let card = KeychainIdentifier(rawValue: "piv:0123")

    static let cardRequests: [HostRequest] =
        [
            .drivers, .cardSettings(.all, in: nil), .cardSettings([], in: .system),
            .configureCards(.pinTimeout(nil), in: .user), .configureCards(.pinTimeout(.max), in: .system),
            .configureCards(.driver("piv", isDisabled: true), in: .dynamic), .card(card, telling: .all),
            .card(card, telling: []), .dataObject("chuid", of: card), .dataObject("", of: card), .modules,
            .events(of: .readers, after: nil, waiting: .seconds(1)), .managementKey(of: card), .eraseCard(card),
            .attestation(of: "9A", on: card), .verifyAttestation([], roots: []),
        ] + cardChanges.map { .administerCard(card, $0, by: .found) }
        + CardAuthority.allCases.map { .administerCard(card, .identify, by: $0) }
        + [nil, false, true].map { .configureCards(.provesBeforePIN($0), in: .user) }

    private static let cardChanges: [CardChange] =
        [
            .importKey(
                slot: "9D", secret("key"), KeyPolicies(pin: .once, touch: .cached), replacing: .ordinary),
            .renewKey(
                KeyRenewal(of: "9A", for: "Ännchen"), in: "82", .ecP256, KeyPolicies(), replacing: .none,
                allowsWeak: true),
            .setRenewedCertificate(KeyRenewal(of: "", for: ""), in: "9A", [0x30]),
            .setCertificate(slot: "9A", [0x30], allowsWeak: true), .setCertificate(slot: "", nil),
            .deleteKey(slot: "9A", replacing: .any), .moveKey(slot: "9D", to: "82"),
            .setData("chuid", [1]), .setData("", nil), .identify, .authenticate, .setTries(pin: 1, unblockingKey: 255),
            .setManagementKey(CardManagementKey(nil, nil, touch: .never, isKeptOnCard: true)),
        ]
        + ([.rsa(bits: 2048), .ecP256, .ecP384, .ecP521, .ed25519, .x25519, .other("SM2")] as [KeyKind]).map {
            .generateKey(slot: "9A", $0, KeyPolicies(), replacing: .none, allowsWeak: $0 == .ecP256)
        }
        + BlockCipher.allCases.map {
            .setManagementKey(CardManagementKey($0, secret("key"), touch: .always, isKeptOnCard: false))
        }

    static func answersAboutCards(_ description: KeychainDescription, _ error: KeychainError) -> [HostAnswer] {
        let objects = [
            CardDataObject("chuid", label: "Ännchen", tag: "5FC102", needsPIN: false),
            CardDataObject("", label: "", needsPIN: true),
        ]
        let facts = [
            CardFact("Name", "Ännchen"),
            CardFact("Parts", "", parts: ["b": .number(-1), "a": .text("ä"), "c": .list(["x", ""])]),
        ]
        let (pins, touches): ([PINPolicy], [TouchPolicy]) = (
            [.never, .once, .always, .other(.max)], [.unknown, .never, .always, .cached, .other(0)]
        )
        var overview = CardOverview(description)
        overview.facts = facts
        overview.slots =
            [CardSlot("9A", label: "PIV Authentication", certificate: [0x30, 0]), CardSlot("", label: "")]
            + pins.flatMap { pin in
                touches.map { touch in
                    let key = CardSlot.Key(publicKey: [0x30], pinPolicy: pin, touchPolicy: touch)
                    return CardSlot("9C", label: "", key: key, certificate: [])
                }
            }
        overview.failures = [error, error]
        overview.pin = .success(CardPIN(triesLeft: 0, maximumTries: 3, isDefault: false))
        overview.unblockingKey = .failure(error)
        var other = CardOverview(description)
        other.unblockingKey = .success(CardPIN(triesLeft: nil))
        let events = [
            KeychainEvent(.tokenInserted, keychain: card, location: "Reader", label: "ä"),
            KeychainEvent(.serviceUnavailable, reason: "it is not running"),
        ]
        return [
            .events(EventPage(events, next: EventPosition(subscription: 1, number: 2))), .drivers([]),
            .drivers([
                CardDriver("piv", isDisabled: true, keyNames: ["9A", ""], dataObjects: objects),
                CardDriver("badge", isDisabled: false),
            ]),
            .cardSettings(CardSettings()),
            .cardSettings(CardSettings(pinTimeout: .max, provesBeforePIN: false, disabledDrivers: ["piv"])),
            .card(CardOverview(description)), .card(overview), .card(other),
            .dataObject(CardDataContent(secret("bytes"), of: objects[0], facts: .success(facts))),
            .dataObject(CardDataContent(secret(""), of: objects[1], facts: .failure(error))), .modules([]),
            .modules([
                ModuleDescription(
                    "softhsm2", path: "/ä.so",
                    .used(
                        [ModuleDescription.Token(card, label: "ä", slot: "")], bypassedReaders: ["Reader", ""])),
                ModuleDescription("", .used([], bypassedReaders: [])), ModuleDescription("x", .failed(error)),
                ModuleDescription("p11-kit-trust", .leftOut(reason: "it names no module")),
            ]),
            .cardChange(.done), .cardChange(.publicKey([0x30])), .cardChange(.managementKey(secret("key"))),
            .managementKey(
                CardManagementKeyStatus(
                    cipher: nil, isDefault: nil, touch: .unknown, isKeptOnCard: true, ciphers: [], keyPlaces: [],
                    movesKeys: true, weakKeys: [])),
            .managementKey(
                CardManagementKeyStatus(
                    cipher: .aes192, isDefault: true, touch: .always, isKeptOnCard: false,
                    ciphers: [.aes256, .tripleDES],
                    keyPlaces: KeyRole.allCases.map { CardKeyPlace("9A", for: $0) }, movesKeys: false,
                    weakKeys: [.ecP256, .rsa(bits: 2048)])),
            .attestation([]), .attestation([[0x30], []]),
            .verifiedAttestation(
                CardAttestation(publicKey: [0x30], slot: "9A", pinPolicy: .once, touchPolicy: .cached, facts: facts)),
            .verifiedAttestation(
                CardAttestation(publicKey: [], slot: "", pinPolicy: nil, touchPolicy: .unknown, facts: [])),
        ]
    }
}
