import Foundation
import HostAPI
import KeychainModel
import PIVDriver
import PKCS11Bridge
import Platform
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import HostServer
@testable import KeychainHost
@testable import VirtualCard

/// `tokenctl card setup` that is interrupted at each of its commands, and run again on the same card.
@Suite struct InterruptedSetupTests {
    /// The interruptions of one test: each `step`-th command from the first or a later one.
    struct Plan: Sendable, CustomTestStringConvertible {
        let profile: CardProfile
        let faults: [CardFault]
        let start: Int
        let step: Int

        var testDescription: String { "\(profile.name), from command \(start) in steps of \(step)" }
    }

    /// Neighbouring commands are in different tests, which run in parallel. The card is taken out before one and reset before the next.
    static let plans =
        (0..<4).map { Plan(profile: .yubiKey57, faults: [.remove, .reset], start: $0, step: 4) }
        + (0..<3).map { Plan(profile: .yubiKey43, faults: [.remove, .reset], start: $0, step: 3) }
        + [Plan(profile: .generic, faults: [.remove, .reset], start: 2, step: 5)]

    @Test(arguments: plans) func theNextRunFinishes(_ plan: Plan) throws {
        let whole = try SetupStage(plan.profile)
        try whole.expectReady(whole.setUp())
        let objects = Set(whole.card.contents.objects.keys)
        for index in stride(from: plan.start, to: 1000, by: plan.step) {
            let fault = plan.faults[index % plan.faults.count]
            let stage = try SetupStage(plan.profile)
            stage.reader.faults.order(fault, at: index)
            let first = try stage.setUp()
            let wasHit = stage.reader.faults.count == 0
            guard wasHit else { return }
            let place: Comment =
                "\(fault) before command \(index), \(stage.reader.log.last?.description ?? ""): \(first)"
            if first.status != 0 { stage.expectReason(first, place) }
            // Such a card does not tell that its PIN is new, and has nothing yet that would show it.
            let isTriedOnce =
                !plan.profile.extensions.contains(.metadata) && stage.hasNewPIN
                && stage.card.contents.objects[0x5FC102] == nil
            let keys = stage.card.contents.keys
            stage.reader.insert(stage.card)
            let second = try stage.setUp()
            try stage.expectReady(second, place, mayLackTry: isTriedOnce)
            #expect(Set(stage.card.contents.objects.keys) == objects, place)
            for (reference, key) in keys {
                #expect(stage.card.contents.keys[reference]?.privateKey.publicKey == key.privateKey.publicKey, place)
            }
            // Neither run has given a wrong PIN or PUK, but for the factory's of a card that was empty.
            let refusals = stage.reader.log.filter { $0.status?.sw1 == 0x63 && $0.dataCount > 0 }
            #expect(refusals.count <= (isTriedOnce ? 2 : 0), place)
        }
        Issue.record("the setup has more commands than there are faults")
    }
}

/// A card as its maker delivers it, in a reader that a session's host uses.
private final class SetupStage {
    private let served: ServedCard
    private let source: String

    var card: VirtualCard { served.card }
    var reader: VirtualReader { served.reader }

    static let (pin, unblockingKey) = ("111222", "11122233")

    init(_ profile: CardProfile) throws {
        served = try ServedCard(VirtualCard(profile: profile))
        source = try served.user.folder.write("new", "\(Self.pin)\n\(Self.unblockingKey)\n")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: source)
    }

    func setUp() throws -> ProgramResult {
        try Program.run(
            [Program.command, "card", "setup", "-c", "Jo", "--yes", "--pin-source", "file:\(source)"],
            environment: served.environment)
    }

    /// Checks that a run has said in one sentence what stopped it, and before that, where something is done, how it is gone on with.
    func expectReason(_ result: ProgramResult, _ place: Comment) {
        let sentences = String(decoding: result.errors, as: UTF8.self).split(separator: "\n")
        #expect(
            sentences.count <= 2 && sentences.dropLast().allSatisfy { $0.contains("run 'card setup' again") }, place)
        let causes = [
            "the card was taken out", "another program reset the card", "is inserted", "is not inserted",
            "there is no card",
        ]
        #expect(causes.contains { sentences.last?.contains($0) == true }, place)
    }

    var hasNewPIN: Bool {
        let reference = card.profile.pinReference
        return card.contents.references[reference].map { $0 != .factory(reference, limit: $0.limit) } ?? false
    }

    /// Checks that a run has succeeded, and that the card is as a setup leaves it.
    ///
    /// - Parameter mayLackTry: whether the factory's PUK was tried in vain, which only the right PUK makes up for.
    func expectReady(
        _ result: ProgramResult, _ place: Comment = "uninterrupted", mayLackTry: Bool = false
    ) throws {
        #expect(result.status == 0, "\(place.rawValue)\nthen \(result)")
        let contents = card.contents
        for (reference, text) in [(card.profile.pinReference, Self.pin), (.unblocking, Self.unblockingKey)] {
            let data = try #require(contents.references[reference])
            var expected = ReferenceData(text, limit: data.limit)
            if mayLackTry, reference == .unblocking, data.remaining == data.limit - 1 { expected.remaining -= 1 }
            #expect(data == expected, place)
        }
        for slot in [CardKeyReference.authentication, .signature, .keyManagement] {
            let key = try #require(contents.keys[slot]?.privateKey.publicKey, place)
            let object = try #require(DataObject.certificate(of: slot).flatMap { contents.objects[$0] }, place)
            let certificate = try CertificateObject.parse(object)
            #expect(try certificate.map { try Certificate(der: $0.certificate).spki } == key.spki, place)
        }
        let factory = CardContents.factory(card.profile, serialNumber: 0).managementKey
        let key = try #require(contents.managementKey)
        let printed = contents.objects[0x5FC109] ?? []
        if card.profile.firmware != nil {
            // The card gives it to whoever has the PIN.
            #expect(key != factory && !printed.ranges(of: key.value.bytes).isEmpty, place)
        } else {
            #expect(key == factory && printed.isEmpty, place)
        }
    }
}
