import HostAPI
import PIVDriver
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost
@testable import KeychainModel

/// The number of commands of a signature in a new process, as each run of `tokenctl` is, with a card that was used before.
@Suite struct SignatureBudgetTests {
    struct Job: Sendable, CustomTestStringConvertible {
        let profile: CardProfile
        let algorithm: CardAlgorithm
        var testDescription: String { "\(profile.name), \(algorithm)" }

        static let all = [CardProfile.pivAppletMetadata, .canoKey, .genericShort, .pivApplet, .yubiKey57].flatMap {
            profile in [CardAlgorithm.p256, .rsa2048].map { Job(profile: profile, algorithm: $0) }
        }

        var tellsMetadata: Bool { ![.genericShort, .pivApplet].contains(profile) }

        /// An RSA block takes two commands, and its answer a third. A card without metadata is asked for its Discovery Object, for
        /// the PIN that it has.
        var limit: Int { (algorithm == .p256 ? 5 : 7) + (tellsMetadata ? 0 : 1) }
    }

    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// The card as a new process sees it.
    private func program(_ reader: VirtualReader) -> TokenKeychain {
        let certificates = FileTokenMemory(
            directory: folder.path("certificates"), limit: FileTokenMemory.certificateLimit)
        let driver = PIVDriver(memory: FileTokenMemory(directory: folder.path("tokens")), certificates: certificates)
        return TokenKeychain(TokenSlot(reader: reader, drivers: [driver]))
    }

    /// The commands of a signature, including continuations.
    private func log(
        _ job: Job, _ key: String, _ prompter: any Prompter = AnswersByScript("123456")
    ) throws -> [LoggedCommand] {
        let reader = VirtualReader(card: try TestCard(profile: job.profile, algorithm: job.algorithm).make())
        #expect(try program(reader).items(matching: Query(.certificate, limit: .all)).found.count >= 4)
        return try log(job, key, prompter, on: reader)
    }

    private func log(
        _ job: Job, _ key: String, _ prompter: any Prompter, on reader: VirtualReader
    ) throws -> [LoggedCommand] {
        reader.clearLog()
        let signer = try #require(try program(reader).keys(.signer(key)).first)
        let digest = [UInt8](repeating: 0x5A, count: 32)
        let action = TokenOperation.Action.sign(job.algorithm == .p256 ? .ecdsa(nil) : .rsaPKCS1(.sha256), digest)
        let context = AuthenticationContext(prompter: prompter)
        let signature = try signer.perform(action, use: "sign it", authentication: context).copiedBytes
        let publicKey = try PublicKey(spki: signer.publicKey)
        let algorithm: SignatureAlgorithm = job.algorithm == .p256 ? .ecdsa(nil) : .rsaPKCS1(.sha256)
        #expect(try publicKey.verify(signature, digest: digest, using: algorithm))
        return reader.log
    }

    @Test(arguments: Job.all, ["9A", "9C"])
    func aSignatureCostsOneSelectionOneQuestionAndOnePIN(job: Job, key: String) throws {
        let log = try log(job, key)
        #expect(log.count <= job.limit, "\(log)")
        #expect(log.count { $0.ins == 0xA4 } == 1)
        #expect(log.count { $0.ins == 0x20 && $0.dataCount > 0 } == 1)
        #expect(log.count { $0.ins == 0xF7 || ($0.ins == 0x20 && $0.dataCount == 0) } == 1)
    }

    /// A card that programs sign with and never list, as ssh does. The second one finds out whether the card has metadata.
    @Test(arguments: Job.all, ["9A", "9C", "9E"])
    func theThirdSignatureOnACardThatWasNeverListedCostsNoMoreThanAfterAListing(job: Job, key: String) throws {
        let reader = VirtualReader(card: try TestCard(profile: job.profile, algorithm: job.algorithm).make())
        let first = try log(job, key, AnswersByScript("123456"), on: reader)
        _ = try log(job, key, AnswersByScript("123456"), on: reader)
        let third = try log(job, key, AnswersByScript("123456"), on: reader)
        #expect(third.count <= (key == "9E" ? 5 : job.limit), "\(third)")
        #expect(first.count > third.count)
        // The memory of one key takes nothing from a listing.
        #expect(try program(reader).items(matching: Query(.certificate, limit: .all)).found.count >= 4)
        let other = try log(job, key == "9A" ? "9C" : "9A", AnswersByScript("123456"), on: reader)
        #expect(other.count <= job.limit)
    }

    /// The tries left are read before the question, and again with the PIN, because other programs may have used some. A card
    /// without metadata reports them only after a new selection of PIV.
    @Test(arguments: Job.all, ["9A", "9C"])
    func aPersonWhoIsToldTheTriesLeftCostsAnotherQuestion(job: Job, key: String) throws {
        let log = try log(job, key, TypesInTurn("123456"))
        #expect(log.count <= job.limit + (job.tellsMetadata ? 1 : 2), "\(log)")
        #expect(log.count { $0.ins == 0x20 && $0.dataCount > 0 } == 1)
        #expect(log.count { $0.ins == 0xF7 || ($0.ins == 0x20 && $0.dataCount == 0) } == 2)
    }

    @Test(arguments: Job.all)
    func aKeyWithoutAPINCostsFive(job: Job) throws {
        #expect(try log(job, "9E").count <= 5)
    }

    @Test func anotherKeyThatTookThePlaceOfTheRememberedOneIsNotTakenForIt() throws {
        let card = TestCard(profile: .canoKey)
        let reader = VirtualReader(card: try card.make())
        _ = try program(reader).items(matching: Query(.certificate, limit: .all))
        // A card with the same GUID and other keys.
        reader.insert(try TestCard(profile: .canoKey, name: "another").make())
        let context = AuthenticationContext(prompter: AnswersByScript("123456"))
        let stale = try #require(try program(reader).keys(.signer("9A")).first)
        #expect(throws: KeychainError(.itemNotFound)) { try stale.sign(context) }
        let signer = try #require(try program(reader).keys(.signer("9A")).first)
        #expect(signer.publicKey != stale.publicKey)
        #expect(try signer.sign(AuthenticationContext(prompter: AnswersByScript("123456"))).isEmpty == false)
    }
}
