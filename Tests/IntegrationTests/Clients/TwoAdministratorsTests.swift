import Foundation
import PIVDriver
import SystemCrypto
import TestSupport
import Testing

@testable import VirtualCard

/// Two programs that change a card at a time, each with a host of its own, or with one that they share: what each does is done as a whole.
@Suite struct TwoAdministratorsTests {
    @Test(arguments: ["private", "session"], [CardProfile.yubiKey57, .generic])
    func eachChangeIsDone(host kind: String, profile: CardProfile) throws {
        let desk = try SharedDesk(profile, host: kind)
        defer { desk.stop() }
        let (card, contents) = (desk.card, { desk.card.holder.card.contents })
        let done = DispatchGroup()
        Thread.detached(in: done) {
            for number in 0..<desk.count {
                desk.administer("card", "generate", "9A", "--replace", "-o", card.folder.path("key-\(number)"))
                desk.administer("card", "self-sign", "9A", "-c", "Key \(number)")
            }
        }
        Thread.detached(in: done) {
            for number in 0..<desk.count {
                desk.administer("card", "write", "security-object", card.folder.path("message"))
                guard profile != .generic else { continue }
                desk.administer("card", "set-management-key", "-a", number % 2 == 0 ? "aes128" : "aes256")
            }
        }
        done.wait()

        let key = try #require(contents().keys[.authentication]?.privateKey.publicKey)
        #expect(try desk.text("key-\(desk.count - 1)") == PEM.encode(key.spki, label: "PUBLIC KEY"))
        let object = try #require(contents().objects[DataObject.authenticationCertificate])
        let certificate = try #require(try CertificateObject.parse(object)?.certificate)
        #expect(try Certificate(der: certificate).spki == key.spki)
        #expect(try Certificate(der: certificate).commonName == "Key \(desk.count - 1)")
        #expect(contents().objects[DataObject.security] == ClientCard.message)
        for reference in contents().references.values { #expect(reference.remaining == reference.limit) }
        // The key that the card keeps is the one that counts, and the next change finds it.
        desk.administer("card", "generate", "9E", "-o", card.folder.path("9E"))
        #expect(contents().keys[.cardAuthentication] != nil)
    }

    /// The other program deletes the key in the middle of a renewal, whose steps are requests of their own.
    @Test(arguments: ["private", "session"]) func aRenewalAndADeletionLeaveNoForeignCertificate(host kind: String)
        throws
    {
        let desk = try SharedDesk(.yubiKey57, host: kind)
        defer { desk.stop() }
        let contents = { desk.card.holder.card.contents }
        for _ in 0..<desk.count {
            let done = DispatchGroup()
            for command in [["card", "renew", "9A"], ["card", "delete", "9A", "--replace"]] {
                Thread.detached(in: done) { desk.tryToAdminister(command) }
            }
            done.wait()
            for (slot, key) in contents().keys {
                guard let object = DataObject.certificate(of: slot).flatMap({ contents().objects[$0] }),
                    let certificate = try CertificateObject.parse(object)?.certificate
                else { continue }
                #expect(try Certificate(der: certificate).spki == key.privateKey.publicKey.spki, "\(slot)")
            }
            for retired in 0x82...0x95 as ClosedRange<UInt8> {
                guard contents().keys[CardKeyReference(rawValue: retired)] != nil else { continue }
                let slot = String(retired, radix: 16, uppercase: true)
                desk.administer("card", "delete", slot, "--replace-decryption-key")
            }
            desk.administer("card", "generate", "9A", "--replace", "-o", desk.card.folder.path(UUID().uuidString))
            desk.administer("card", "self-sign", "9A", "-c", "Jo")
        }
    }
}

/// A card that was set up, and programs that administer it.
private struct SharedDesk: Sendable {
    let card: ClientCard
    /// How often each program does what it does.
    let count = 5
    private let variables: [String]
    private let sources: [String]
    private let host: String

    init(_ profile: CardProfile, host: String) throws {
        card = try ClientCard(profile)
        self.host = host
        let folder = card.folder.path
        variables =
            ["HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"].map { "\($0)=\(folder)" }
            + ["TOKENKIT_HOST=\(host)", "TOKENKIT_MODULES="]
        let pin = ["--pin-source", try card.setUp()]
        let factory = String(repeating: "0102030405060708", count: 3)
        sources =
            profile == .generic
            ? pin + ["--management-key-source", try card.secret("management", factory)] : pin
        if host == "session" { run("host", "start") }
    }

    func stop() {
        if host == "session" { run("host", "stop") }
    }

    func text(_ name: String) throws -> String { String(decoding: try card.folder.read(name), as: UTF8.self) }

    /// Runs `tokenctl` with the sources of PIN and management key; it has to succeed.
    func administer(_ command: String..., at location: SourceLocation = #_sourceLocation) {
        run(command + sources, at: location)
    }

    /// Runs `tokenctl` likewise; where it fails, it says in one sentence why.
    func tryToAdminister(_ command: [String]) {
        guard let result = try? start(command + sources) else {
            Issue.record("\(command) does not start")
            return
        }
        guard result.status != 0 else { return }
        let sentences = String(decoding: result.errors, as: UTF8.self).split(separator: "\n")
        #expect(sentences.count == 1 && sentences[0].hasPrefix("tokenctl: "), "\(command): \(result)")
        #expect(!result.description.contains("errSecInternal"), "\(command): \(result)")
    }

    private func run(_ command: String...) { run(command) }

    private func run(_ command: [String], at location: SourceLocation = #_sourceLocation) {
        do {
            let result = try start(command)
            #expect(result.status == 0, "\(command.joined(separator: " ")): \(result)", sourceLocation: location)
        } catch {
            Issue.record(error, sourceLocation: location)
        }
    }

    private func start(_ command: [String]) throws -> ProgramResult {
        try card.holder.run(["env"] + variables + [Program.command] + command)
    }
}
