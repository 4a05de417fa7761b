import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import PIVDriver
@testable import VirtualCard

/// A change that is interrupted at each of its commands: the card has its former content, or the next run of the change finishes it.
@Suite struct AdministrationFaultTests {
    /// A change of a card, by one or several requests of a program.
    struct Job: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var prepare: @Sendable (Desk) throws -> Void = { _ in }
        /// Also the run after an interruption.
        let run: @Sendable (Desk) throws -> Void
        let isDone: @Sendable (Desk) throws -> Bool
        /// Checks the card before the next run.
        var check: @Sendable (Desk) throws -> Void = { _ in }
    }

    private static let imported = Result { try PrivateKey.generate(.ecP256) }
    private static let long = Result {
        var builder = try CertificateBuilder(
            commonName: "long", publicKey: imported.get().publicKey, notBefore: 1_600_000_000, notAfter: 1_900_000_000)
        builder.subjectAlternativeNames = (0..<200).map { .dns("host\($0).example.org") }
        return try builder.selfSigned(by: imported.get()).der
    }
    private static let own = [UInt8](repeating: 0x5C, count: 16)

    private static func load(_ slot: TokenObjectID, _ desk: Desk) throws {
        let key = SharedSecret(try imported.get().pkcs8())
        try desk.administer(.importKey(slot, key, KeyPolicies(), replacing: .any))
    }

    private static func historyCount(_ desk: Desk) throws -> Int? {
        try desk.content(of: "key-history").map { try KeyHistory(parsing: $0).onCard }
    }

    static let jobs: [Job] = keyJobs + certificateJobs + [renewal, erasure] + secretJobs

    private static let keyJobs = [
        Job(
            testDescription: "import", prepare: { _ = try $0.issue("9A") }, run: { try load("9A", $0) },
            isDone: { try $0.object("9A")?.key?.publicKey == imported.get().publicKey.spki }),
        Job(
            testDescription: "move", prepare: { _ = try $0.issue("9D", .keyAgreement) },
            run: { try $0.administer(.moveKey("9D", to: "82")) },
            isDone: { desk in
                try desk.object("9D") == nil && desk.object("82")?.key != nil
                    && desk.object("82")?.certificate != nil && historyCount(desk) == 1
            },
            check: { desk in
                let places = try ["9D", "82"].filter { try desk.object($0)?.certificate != nil }
                #expect(!places.isEmpty)
                #expect(desk.card.contents.keys.keys.contains { [.keyManagement, 0x82].contains($0) })
            }),
        Job(
            testDescription: "delete", prepare: { _ = try $0.issue("9A") },
            run: { try $0.administer(.deleteKey("9A", replacing: .any)) }, isDone: { try $0.object("9A") == nil }),
    ]

    private static let certificateJobs = [
        Job(
            testDescription: "put-certificate", prepare: { _ = try $0.issue("82") },
            run: { desk in
                let key = try PublicKey(spki: #require(desk.object("82")?.key).publicKey)
                let builder = try CertificateBuilder(
                    commonName: "new", publicKey: key, notBefore: 1_600_000_000, notAfter: 1_900_000_000)
                let certificate = try builder.selfSigned(by: imported.get())
                try desk.administer(.setCertificate("82", certificate.der))
            },
            isDone: { desk in
                let certificate = try desk.object("82")?.certificate.map { try Certificate(der: $0) }
                return try certificate?.commonName == "new" && historyCount(desk) == 1
            },
            check: { desk in
                let object = try desk.object("82")
                #expect(object?.certificate != nil)
            }),
        Job(
            testDescription: "put-certificate that is compressed", prepare: { try load("9A", $0) },
            run: { try $0.administer(.setCertificate("9A", long.get())) },
            isDone: { try $0.object("9A")?.certificate == long.get() }),
        Job(
            testDescription: "put-certificate --delete", prepare: { _ = try $0.issue("83") },
            run: { try $0.administer(.setCertificate("83", nil)) },
            isDone: { try $0.object("83")?.certificate == nil && historyCount($0) == 0 }),
    ]

    /// A renewal by single commands, which a person continues with `card move`. Those of `card renew` are in InterruptedRenewalTests.
    private static let renewal = Job(
        testDescription: "renew", prepare: { _ = try $0.issue("9A") },
        run: { desk in
            let present = try desk.object("9A")?.certificate.map { try Certificate(der: $0) }
            if present?.commonName == "9A" {
                if try desk.object("82")?.certificate == nil {
                    if try desk.object("82") != nil { try desk.administer(.deleteKey("82", replacing: .any)) }
                    _ = try desk.issue("82")
                }
                try desk.administer(.moveKey("9A", to: "83"))
            }
            if try desk.object("82") != nil { try desk.administer(.moveKey("82", to: "9A")) }
            if try desk.object("83") != nil { try desk.administer(.deleteKey("83", replacing: .any)) }
        },
        isDone: { desk in
            let certificate = try desk.object("9A")?.certificate.map { try Certificate(der: $0) }
            return try certificate?.commonName == "82" && desk.object("82") == nil && desk.object("83") == nil
        },
        check: { desk in
            // The old key goes last.
            let keys = desk.card.contents.keys
            #expect(keys[.authentication] != nil || keys[0x83] != nil)
        })

    private static let erasure = Job(
        testDescription: "reset", prepare: { _ = try $0.issue("9A") },
        run: { try $0.slot.erase(at: $0.slot.insertion()) },
        isDone: { try $0.inventory().objects.allSatisfy { $0.id == "F9" } && $0.status().isDefault == true })

    private static let secretJobs = [
        Job(
            testDescription: "card pin change", run: { try $0.change(from: "123456", to: "111222") },
            isDone: { $0.pin == "111222" }, check: { try $0.verifyAny("123456", "111222") }),
        Job(
            testDescription: "card pin change --puk",
            run: { try $0.change(.unblockingKey, from: "12345678", to: "11122233") },
            isDone: { $0.unblockingKey == "11122233" }),
        Job(
            testDescription: "card pin unblock", prepare: { try $0.change(from: "123456", to: "333444") },
            run: { try $0.unblock("12345678", newPIN: "111222") },
            isDone: { $0.pin == "111222" }, check: { try $0.verifyAny("333444", "111222") }),
        Job(
            testDescription: "set-pin-tries", prepare: { try $0.change(from: "123456", to: "333444") },
            run: { try $0.administer(.setTries(pin: 7, unblockingKey: 5), by: .both("333444")) },
            isDone: { try $0.pin == "123456" && $0.status().maximumTries == 7 },
            check: { try $0.verifyAny("333444", "123456") }),
        Job(
            testDescription: "set-management-key --new",
            run: { desk in
                let new = SharedSecret(Secret(copying: own.span))
                try desk.administer(
                    .setManagementKey(NewManagementKey(.aes128, new, touch: .never, isKeptOnToken: false)))
            },
            isDone: { $0.card.contents.managementKey?.value.bytes == own },
            check: { #expect([own, Desk.factory].contains($0.card.contents.managementKey?.value.bytes)) }),
        Job(
            testDescription: "set-management-key --new, of a card that keeps another",
            prepare: { desk in
                try desk.administer(
                    .setManagementKey(NewManagementKey(.aes256, nil, touch: .never, isKeptOnToken: true)),
                    by: .both("123456"))
            },
            run: { desk in
                let new = SharedSecret(Secret(copying: own.span))
                // Where the card no longer keeps the former key, its owner gives the new one.
                let isKept = try desk.managementKey().isKeptOnToken
                let keeps = desk.card.contents.objects[0x5FC109] != nil
                let authority: Desk.Authority =
                    isKept ? keeps ? .kept("123456") : .keyAndPIN(own, "123456") : .key(own)
                try desk.administer(
                    .setManagementKey(NewManagementKey(.aes128, new, touch: .never, isKeptOnToken: false)),
                    by: authority)
            },
            isDone: { desk in
                try desk.card.contents.managementKey?.value.bytes == own && !desk.managementKey().isKeptOnToken
                    && desk.card.contents.objects[0x5FC109] == nil
            }),
    ]

    @Test(arguments: jobs, [CardFault.remove, .reset, .drop]) func aRunAfterAnInterruptionFinishes(
        _ job: Job, _ fault: CardFault
    ) throws {
        for index in 0..<300 {
            let desk = try Desk(IssuedCard(profile: .yubiKey57, keys: [:], keyHistory: nil, guid: nil))
            try job.prepare(desk)
            desk.reader.faults.order(fault, at: index)
            _ = try? job.run(desk)
            let wasHit = desk.reader.faults.count == 0
            desk.reader.faults.clear()
            desk.reader.insert(desk.card)
            try desk.expectMatchingCertificates("\(index)")
            try job.check(desk)
            if try !job.isDone(desk) { try job.run(desk) }
            #expect(try job.isDone(desk), "\(index)")
            try desk.expectMatchingCertificates("\(index)")
            if !wasHit { return }
        }
        Issue.record("the change has more commands than there are faults")
    }
}

extension Desk {
    fileprivate var pin: String? { secret(0x80) }
    fileprivate var unblockingKey: String? { secret(0x81) }

    /// A PIN or unblocking key as the card has it, by its key reference.
    private func secret(_ reference: UInt8) -> String? {
        let data = card.contents.references.first { $0.key.rawValue == reference }?.value
        return data.map { String(decoding: $0.value.bytes.prefix { $0 != ReferenceData.padding }, as: UTF8.self) }
    }

    /// Presents the one of two PINs that the card has.
    fileprivate func verifyAny(_ old: StaticString, _ new: StaticString) throws {
        #expect(pin == old.description || pin == new.description)
        try verify(pin == new.description ? new : old)
    }

    /// Checks that no certificate stands beside a key that it does not certify.
    func expectMatchingCertificates(_ comment: Comment) throws {
        for object in try inventory().objects {
            guard let certificate = object.certificate, let key = object.key, !key.publicKey.isEmpty else { continue }
            #expect(try Certificate(der: certificate).spki == key.publicKey, comment)
        }
    }
}
