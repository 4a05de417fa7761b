import Foundation
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

private func open(_ name: String) throws -> CardConversation {
    let card = CardConversation(try CardImage.load(CardFolders.path(name)).makeCard(clock: SimulatedClock()))
    try card.select()
    return card
}

private let certificates: [(tag: TLVTag, key: UInt8)] = [
    (0x5FC105, 0x9A), (0x5FC10A, 0x9C), (0x5FC10B, 0x9D), (0x5FC101, 0x9E), (0x5FC10D, 0x82), (0x5FC10E, 0x83),
    (0x5FC10F, 0x84), (0x5FC110, 0x85), (0x5FC111, 0x86),
]

@Suite struct CardImageTests {
    @Test(arguments: CardFolders.names)
    func everyCardLoadsWithItsObjects(name: String) throws {
        let card = try open(name)
        for tag in [0x5FC102, 0x5FC107, 0x5FC106] as [TLVTag] {
            #expect(try card.getData(tag).status == .success, "\(tag)")
        }
        #expect(try card.verify() == .success)
        #expect(try card.getData(0x5FC109).status == .success)
        for (tag, _) in certificates.prefix(4) { #expect(try card.getData(tag).status == .success, "\(tag)") }
    }

    @Test(arguments: CardFolders.names)
    func everyKeySignsForItsCertificate(name: String) throws {
        let card = try open(name)
        var count = 0
        for (tag, reference) in certificates where try card.getData(tag).status == .success {
            let der = try #require(card.fields(tag)[0x70])
            let key = try #require(card.card.publicKey(of: CardKeyReference(rawValue: reference)))
            #expect(try Certificate(der: der).publicKey == key)
            try card.verify()
            try sign(card, reference, key)
            count += 1
        }
        #expect(count == (name == CardFolders.golden ? 9 : 4))
    }

    private func sign(_ card: CardConversation, _ reference: UInt8, _ key: PublicKey) throws {
        guard case .rsa(let bits) = key.kind else {
            let digest = [UInt8](repeating: 0x5A, count: 32)
            let signature = try CardConversation.response(in: card.privateKey(0x11, reference, digest))
            #expect(try key.verify(signature, digest: digest, using: .ecdsa(nil)))
            return
        }
        #expect(bits == 2048)
        let block = [0x00, 0x01] + [UInt8](repeating: 0xFF, count: 221) + [0x00] + [UInt8](repeating: 0x5A, count: 32)
        let signature = try CardConversation.response(in: card.privateKey(0x07, reference, block))
        #expect(try key.encrypt(signature.span, using: .raw) == block)
    }

    @Test func anEmptyDiscoveryObjectStaysOne() throws {
        #expect(try open("25_Disco_Object_Not_Present").getData(0x7E).data == [0x7E, 0x00])
    }

    @Test(arguments: [("28_Disco_Object_Present_Global_PIN_Primary", UInt8(0x20)), (CardFolders.golden, UInt8(0x10))])
    func aGlobalPINIsThereWhereTheDiscoveryObjectSaysSo(name: String, preference: UInt8) throws {
        let card = try open(name)
        #expect(try card.fields(0x7E)[0x5F2F]?.last == preference)
        #expect(try card.verify(reference: 0x00) == .success)
        #expect(try card.getData(0x5FC109).status == .success)
    }

    @Test func theKeyHistoryOfCard37CountsFive() throws {
        #expect(try open(CardFolders.golden).fields(0x5FC10C)[0xC1] == [5])
    }
}

@Suite struct DamagedImageTests {
    private func folder(_ files: [String: [UInt8]]) throws -> String {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("image-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for (name, bytes) in files { try Data(bytes).write(to: folder.appendingPathComponent(name)) }
        return folder.path
    }

    @Test func anEmptyFolderIsNoImage() throws {
        let folder = try folder([:])
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(throws: VirtualCardError(.unreadable, "")) { try CardImage.load(folder) }
        #expect(throws: VirtualCardError(.unreadable, "")) { try CardImage.load(folder + "/nowhere") }
    }

    @Test(arguments: ["discovery.bin", "auth-9a.p12", "hist20-95.p12"])
    func aDamagedFileIsNamed(name: String) throws {
        let folder = try folder([name: [1, 2, 3]])
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let error = #expect(throws: VirtualCardError.self) { try CardImage.load(folder) }
        #expect(error?.code == .corrupt)
        #expect(error?.reason.contains(name) == true)
    }

    @Test func aTamperedCertificateIsTakenAsItIs() throws {
        let folder = try folder(["auth-9a.crt": [0x30, 0x03, 0x02, 0x01, 0x00]])
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let card = CardConversation(try CardImage.load(folder).makeCard())
        try card.select()
        #expect(try card.fields(0x5FC105)[0x70] == [0x30, 0x03, 0x02, 0x01, 0x00])
    }
}
