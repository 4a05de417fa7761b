import Foundation
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

/// A file that goes away with the test.
private final class TemporaryCard {
    let path = NSTemporaryDirectory() + "card-\(UUID().uuidString).card"

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The content of the file.
    var bytes: [UInt8] {
        get throws { Array(try Data(contentsOf: URL(fileURLWithPath: path))) }
    }

    func write(_ bytes: some Sequence<UInt8>) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    func open() throws -> CardConversation {
        let card = CardConversation(try VirtualCard(file: path, clock: SimulatedClock()))
        try card.select()
        return card
    }
}

@Suite struct CardFileTests {
    private let file = TemporaryCard()

    private func create(_ profile: CardProfile = .yubiKey57) throws {
        try VirtualCard(profile: profile, serialNumber: 42).save(to: file.path)
    }

    @Test(arguments: [CardAlgorithm.rsa2048, .p256, .p384, .ed25519, .x25519])
    func keysAndObjectsSurvive(algorithm: CardAlgorithm) throws {
        try create()
        let card = try file.open()
        try card.authenticate()
        let key = try card.generate(algorithm, at: 0x9C, policies: [0xAA, 0x01, 0x02, 0xAB, 0x01, 0x03])
        try card.putData(0x5FC10A, Array(repeating: 0xCC, count: 2000))
        let metadata = try card.send(0xF7, 0x00, 0x9C).data

        let again = try file.open()
        #expect(again.card.publicKey(of: .signature) == key)
        #expect(again.card.profile == .yubiKey57)
        #expect(try again.getData(0x5FC10A).data.count == 2004)
        #expect(try again.send(0xF7, 0x00, 0x9C).data == metadata)
        #expect(try again.send(0xF8, 0x00, 0x00).data == [0, 0, 0, 42])
    }

    @Test func aWrongPINIsCountedBeforeItIsAnswered() throws {
        try create()
        let card = try file.open()
        #expect(try card.verify("000000") == 0x63C2)
        #expect(try file.open().send(0x20, 0x00, 0x80, le: nil).status == 0x63C2)
        #expect(try card.verify() == .success)
        #expect(try file.open().send(0x20, 0x00, 0x80, le: nil).status == 0x63C3)
    }

    @Test func whatNeedsNoWritingWritesNothing() throws {
        try create()
        let before = try FileManager.default.attributesOfItem(atPath: file.path)[.systemFileNumber] as? Int
        let card = try file.open()
        try card.authenticate()
        _ = try card.getData(0x7E)
        try card.verify()
        let after = try FileManager.default.attributesOfItem(atPath: file.path)[.systemFileNumber] as? Int
        #expect(before == after)
    }

    @Test func theFileIsItsOwnersAlone() throws {
        try create()
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test func whatCannotBeWrittenHasNotHappened() throws {
        let folder = NSTemporaryDirectory() + "gone-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try VirtualCard(profile: .generic).save(to: folder + "/card")
        let card = CardConversation(try VirtualCard(file: folder + "/card"))
        try card.select()
        try card.authenticate()
        try FileManager.default.removeItem(atPath: folder)
        #expect(try card.putData(0x5FC102, [1]) == .memoryFailure)
        try card.select()
        #expect(try card.getData(0x5FC102).status == .objectNotFound)
    }

    @Test func nothingElseIsLeftBehind() throws {
        try create()
        let card = try file.open()
        try card.verify("000000")
        let name = URL(fileURLWithPath: file.path).lastPathComponent
        let left = try FileManager.default.contentsOfDirectory(atPath: NSTemporaryDirectory())
        #expect(left.filter { $0.hasPrefix(name) } == [name])
    }

    @Test(arguments: CardProfile.all)
    func everyProfileIsFoundAgain(profile: CardProfile) throws {
        try create(profile)
        #expect(try VirtualCard(file: file.path).profile == profile)
    }
}

@Suite struct DamagedCardFileTests {
    private let file = TemporaryCard()

    init() throws {
        try VirtualCard(profile: .yubiKey57).save(to: file.path)
    }

    @Test func everyChangedByteIsNoticed() throws {
        let bytes = try file.bytes
        for index in stride(from: 0, to: bytes.count, by: 7) {
            var damaged = bytes
            damaged[index] ^= 0x01
            try file.write(damaged)
            #expect(throws: VirtualCardError(.corrupt, "")) { try VirtualCard(file: file.path) }
        }
    }

    @Test(arguments: [0, 1, 10, 23, 24, 60])
    func aCutOffFileIsNoticed(length: Int) throws {
        try file.write(file.bytes.prefix(length))
        #expect(throws: VirtualCardError(.corrupt, "")) { try VirtualCard(file: file.path) }
    }

    @Test func aFileOfARightChecksumAndWrongContentIsNoticed() throws {
        let body = Array("tokenkit virtual card 1\n".utf8) + [0xC0, 0x05, 0x01]
        try file.write(body + Digest.hash(body, using: .sha256))
        #expect(throws: VirtualCardError(.corrupt, "")) { try VirtualCard(file: file.path) }
    }

    @Test func anUnknownProfileIsNamed() throws {
        try VirtualCard(profile: .generic.variant("made-up")).save(to: file.path)
        let error = #expect(throws: VirtualCardError.self) { try VirtualCard(file: file.path) }
        #expect(error?.code == .unknownProfile)
        #expect(error?.reason.contains("made-up") == true)
    }

    @Test func noFileIsUnreadable() {
        #expect(throws: VirtualCardError(.unreadable, "")) { try VirtualCard(file: "/nowhere/card") }
        #expect(throws: VirtualCardError(.unwritable, "")) { try VirtualCard().save(to: "/nowhere/card") }
    }
}
