import PIVDriver
import SecureBytes
import SystemCrypto
import Testing
import TokenKit
import VirtualCard

/// Something that goes wrong at one command of a job.
struct Mishap: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let fault: CardFault

    static let all: [Mishap] = [
        Mishap(testDescription: "removal", fault: .remove),
        Mishap(testDescription: "reset by another client", fault: .reset),
        Mishap(testDescription: "6F00", fault: .status(.noPreciseDiagnosis)),
        Mishap(testDescription: "no answer", fault: .drop),
        Mishap(testDescription: "nothing of the answer", fault: .truncate(to: 0)),
        Mishap(testDescription: "two bytes of the answer", fault: .truncate(to: 2)),
        Mishap(testDescription: "five bytes of the answer", fault: .truncate(to: 5)),
        Mishap(testDescription: "an answer too long for its object", fault: .oversize(to: 40_000)),
        Mishap(testDescription: "an answer too long for any", fault: .oversize(to: 70_000)),
        Mishap(testDescription: "a stall of five seconds", fault: .delay(.seconds(5))),
    ]
}

/// A job of a program at a desk, which throws unless it was done.
struct Job: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let profile: CardProfile
    var algorithm = CardAlgorithm.p256

    /// The PINs that the card may have after the job.
    var pins: [StaticString] = ["123456"]
    let run: @Sendable (Desk) throws(TokenError) -> Void

    private static let digest = [UInt8](repeating: 0x5A, count: 32)

    static let all: [Job] = [CardProfile.genericShort, .genericT0, .yubiKey57].flatMap { profile in
        [
            Job(testDescription: "identity, \(profile.name)", profile: profile) { (desk) throws(TokenError) in
                _ = try desk.identity()
            },
            Job(testDescription: "list, \(profile.name)", profile: profile) { (desk) throws(TokenError) in
                let inventory = try desk.inventory()
                if let failure = inventory.failures.values.first { throw failure }
                guard inventory.objects.count >= 5 else { throw TokenError(.notFound, "an object is missing") }
            },
            Job(testDescription: "sign, \(profile.name)", profile: profile, algorithm: .rsa2048) {
                (desk) throws(TokenError) in
                let signature = try desk.perform("9A", .sign(.rsaPKCS1(.sha256), digest), pin: "123456")
                guard let key = try? IssuedCard.publicKey(0x9A, .rsa2048),
                    (try? key.verify(signature, digest: digest, using: .rsaPKCS1(.sha256))) == true
                else { throw TokenError(.malformed, "a wrong signature got through") }
            },
            Job(testDescription: "sign with PIN always, \(profile.name)", profile: profile) {
                (desk) throws(TokenError) in
                _ = try desk.perform("9C", .sign(.ecdsa(nil), digest), pin: "123456")
            },
            Job(testDescription: "verify, \(profile.name)", profile: profile) { (desk) throws(TokenError) in
                try desk.verify()
            },
            Job(testDescription: "change PIN, \(profile.name)", profile: profile, pins: ["123456", "654321"]) {
                (desk) throws(TokenError) in try desk.change(from: "123456", to: "654321")
            },
        ]
    }

    func desk() throws -> Desk {
        var issued = IssuedCard(profile: profile)
        issued.keys[0x9A] = algorithm
        issued.keys[0x82] = .p256
        issued.keyHistory = 1
        issued.signatureLength = 300
        return try Desk(issued)
    }
}

/// Each job, with each mishap at each of its commands.
@Suite struct FaultTests {
    @Test(arguments: Job.all, Mishap.all)
    func itEndsInAnErrorOrInSuccess(job: Job, mishap: Mishap) throws {
        let undisturbed = try job.desk()
        try job.run(undisturbed)
        let pinsSent = undisturbed.pinsSent
        for index in undisturbed.reader.log.indices {
            let desk = try job.desk()
            desk.reader.faults.order(mishap.fault, at: index)
            let error: TokenError?
            do {
                try job.run(desk)
                error = nil
            } catch let failure {
                error = failure
            }
            #expect(desk.pinsSent <= pinsSent, "command \(index): a second PIN try")
            #expect(desk.card.triesLeft == 3, "command \(index): a try is lost")
            expectRight(error, mishap, index)
            try expectRecovery(desk, job, index)
        }
    }

    private func expectRight(_ error: TokenError?, _ mishap: Mishap, _ index: Int) {
        switch mishap.fault {
        case .delay: #expect(error == nil, "command \(index)")
        case .remove:
            #expect(error.map { [.card(.removed), .card(.noCard)].contains($0.code) } ?? false, "command \(index)")
        case .reset:
            #expect(error.map { $0.code == .card(.reset) } ?? true, "command \(index)")
        default:
            // A wrong answer is never taken for a statement about the PIN or for a person's mistake.
            let untrue: [TokenError.Code] = [.pinIncorrect, .pinKnownIncorrect, .pinBlocked, .pinLastTry, .pinFormat]
            #expect(error.map { !untrue.contains($0.code) } ?? true, "command \(index)")
        }
    }

    /// Inserts the card again, and expects that everything works.
    private func expectRecovery(_ desk: Desk, _ job: Job, _ index: Int) throws {
        desk.reader.insert(desk.card)
        #expect(try desk.inventory(.object(TokenObjectID("9A"))).objects.count == 1, "command \(index)")
        let works = job.pins.contains { pin in
            (try? desk.perform("9C", .sign(.ecdsa(nil), [1]), pin: pin)) != nil
        }
        #expect(works, "command \(index)")
    }

    @Test(arguments: [CardProfile.genericShort, .yubiKey57], Mishap.all)
    func aWrongPINNeverCostsMoreThanOneTry(profile: CardProfile, mishap: Mishap) throws {
        let undisturbed = try Desk(IssuedCard(profile: profile))
        #expect(throws: TokenError(.pinIncorrect, "")) { try undisturbed.verify("000000") }
        for index in undisturbed.reader.log.indices {
            let desk = try Desk(IssuedCard(profile: profile))
            desk.reader.faults.order(mishap.fault, at: index)
            #expect(throws: TokenError.self) { try desk.verify("000000") }
            #expect(desk.card.triesLeft >= 2)
            #expect(desk.pinsSent <= 1)
        }
    }
}
