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

/// `tokenctl card renew` that is interrupted at each of its commands, and run again on the same card.
@Suite struct InterruptedRenewalTests {
    /// The interruptions of one test: each `step`-th command from the first or a later one.
    struct Plan: Sendable, CustomTestStringConvertible {
        let profile: CardProfile
        let slot: CardKeyReference
        let start: Int
        let step: Int

        var testDescription: String { "\(slot) of \(profile.name), from command \(start) in steps of \(step)" }
    }

    private static let cards: [(CardProfile, CardKeyReference)] = [
        (.yubiKey57, .authentication), (.yubiKey57, .keyManagement), (.yubiKey54, .authentication),
        (.yubiKey43, .keyManagement),
    ]

    /// Neighbouring commands are in different tests, which run in parallel. The card is taken out before one and reset before the next.
    static let plans = cards.flatMap { profile, slot in
        (0..<2).map { Plan(profile: profile, slot: slot, start: $0, step: 2) }
    }

    @Test(arguments: plans) func theNextRunFinishes(_ plan: Plan) throws {
        let maker = try RenewalStage(VirtualCard(profile: plan.profile), plan.slot)
        try maker.makeKey()
        let faults: [CardFault] = [.remove, .reset]
        for index in stride(from: plan.start, to: 1000, by: plan.step) {
            let fault = faults[index / plan.step % faults.count]
            let stage = try RenewalStage(
                VirtualCard(profile: plan.profile, contents: maker.card.contents), plan.slot)
            stage.reader.faults.order(fault, at: index)
            let first = try stage.renew()
            guard stage.reader.faults.count == 0 else { return try stage.expectRenewed(first, "uninterrupted") }
            let place: Comment =
                "\(fault) before command \(index), \(stage.reader.log.last?.description ?? ""): \(first)"
            stage.reader.insert(stage.card)
            if first.status == 0 {
                try stage.expectRenewed(first, place)
                continue
            }
            let isBegun = stage.isBegun
            let second = try stage.renew()
            let isNamed = String(decoding: second.errors, as: UTF8.self).contains("was interrupted")
            #expect(isNamed == isBegun, "\(place.rawValue)\nthen \(second)")
            try stage.expectRenewed(second, place)
        }
        Issue.record("the renewal has more commands than there are faults")
    }

    @Test func aWrongPINMakesNoKey() throws {
        let maker = try RenewalStage(VirtualCard(profile: .yubiKey57), .authentication)
        try maker.makeKey()
        let stage = try RenewalStage(
            VirtualCard(profile: .yubiKey57, contents: maker.card.contents), .authentication)
        let keys = stage.card.contents.keys.keys
        let result = try stage.renew(pin: "654321")
        #expect(result.status != 0)
        #expect(stage.card.contents.keys.keys == keys)
        try stage.expectRenewed(stage.renew(), "after a wrong PIN")
    }
}

/// A card with a key, in a reader that a session's host uses.
private final class RenewalStage {
    private let served: ServedCard
    private let slot: CardKeyReference
    private let former: CardContents

    var card: VirtualCard { served.card }
    var reader: VirtualReader { served.reader }

    init(_ card: VirtualCard, _ slot: CardKeyReference) throws {
        (self.slot, former) = (slot, card.contents)
        served = try ServedCard(card)
    }

    private var name: String { String(slot.rawValue, radix: 16, uppercase: true) }

    private func run(_ arguments: [String], pin: String = "123456") throws -> ProgramResult {
        var environment = served.environment
        (environment["PIN"], environment["KEY"]) = (pin, "010203040506070801020304050607080102030405060708")
        let sources = ["--pin-source", "env:PIN", "--management-key-source", "env:KEY"]
        return try Program.run([Program.command, "card"] + arguments + sources, environment: environment)
    }

    func makeKey() throws {
        for command in [["generate", name, "-a", "p256"], ["self-sign", name, "-c", "Jo"]] {
            let weak = command[0] == "generate" ? ["--allow-weak-key"] : []
            let result = try run(command + weak)
            try #require(result.status == 0, "\(result)")
        }
    }

    func renew(pin: String = "123456") throws -> ProgramResult {
        try run(
            ["renew", name, "--replace-decryption-key", "--allow-weak-key"], pin: pin)
    }

    /// Whether the card's content is no longer what it was before, and tells so.
    var isBegun: Bool {
        let contents = card.contents
        guard let object = DataObject.certificate(of: slot) else { return false }
        return contents.keys.keys != former.keys.keys || contents.objects[object] != former.objects[object]
            || contents.keys.contains { former.keys[$0]?.privateKey.publicKey != $1.privateKey.publicKey }
    }

    /// Checks that a run has succeeded, and that the card is as a renewal leaves it: nothing more is on it than before, except for an old
    /// key that decrypts and its certificate.
    func expectRenewed(_ result: ProgramResult, _ place: Comment) throws {
        let place: Comment = "\(place.rawValue)\nthen \(result)"
        #expect(result.status == 0, place)
        let contents = card.contents
        let old = try #require(former.keys[slot]?.privateKey.publicKey ?? nil)
        let new = try #require(contents.keys[slot]?.privateKey.publicKey, place)
        #expect(new != old, place)
        let certificate = try #require(try self.certificate(of: slot, contents), place)
        #expect(certificate.spki == new.spki && certificate.commonName == "Jo", place)
        let retired = contents.keys.keys.filter { (0x82...0x95).contains($0.rawValue) }
        let objects = contents.objects.filter { !$1.isEmpty }.keys.filter {
            (0x5FC10D...0x5FC120).contains($0.rawValue)
        }
        let keeps = slot == .keyManagement && card.profile == .yubiKey57
        #expect(retired.count == (keeps ? 1 : 0) && objects.count == retired.count, place)
        for key in retired {
            #expect(contents.keys[key]?.privateKey.publicKey == old, place)
            #expect(try self.certificate(of: key, contents)?.spki == old.spki, place)
        }
        #expect(!reader.log.contains { $0.status?.sw1 == 0x63 && $0.dataCount > 0 } || place.rawValue.contains("PIN"))
    }

    private func certificate(of slot: CardKeyReference, _ contents: CardContents) throws -> Certificate? {
        guard let object = DataObject.certificate(of: slot).flatMap({ contents.objects[$0] }) else { return nil }
        return try CertificateObject.parse(object).map { try Certificate(der: $0.certificate) }
    }
}
